import { expect, test } from "vitest";

// Growth of the public surface is a reviewed diff of this file.
test.each([
  [
    "@halyard/flags/engine",
    ["checkConditions", "checkReferences", "compileFlag", "countRegex", "murmur3", "segmentsOf"],
  ],
  ["@halyard/flags/node", ["toNodeHandler"]],
  ["@halyard/flags/redis", ["redisRateLimitStore"]],
])("%s exports exactly the names it promises", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
