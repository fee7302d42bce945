import { expect, test } from "vitest";

// A change of the public names is a reviewed diff of this file.
test.each([
  ["@halyard/devtools/asyncapi", ["asyncApi"]],
  ["@halyard/devtools/inspector", ["createInspector"]],
  ["@halyard/devtools/toolbar", ["mountFlagsToolbar"]],
])("%s exports exactly these names", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
