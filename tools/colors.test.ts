import { expect, test } from "vitest";
import { read } from "./repository.ts";

/** The colors that a file defines, by name. */
function readColors(file: string): Map<string, string> {
  const found = read(file).matchAll(/^\s*(--[\w-]+): (light-dark\(#[^)]+\));/gm);
  return new Map(Array.from(found, ([, name = "", color = ""]) => [name, color]));
}

// The toolbar is in another package, which must not import the console, so both list them.
test("the toolbar has the colors of the console", () => {
  const console = readColors("packages/console/app/src/styles/tokens.css");
  const toolbar = readColors("packages/devtools/src/toolbar/styles.ts");
  expect(toolbar.size).toBeGreaterThan(10);
  const expected = Array.from(toolbar.keys(), (name) => [name, console.get(name)]);
  expect([...toolbar]).toEqual(expected);
});
