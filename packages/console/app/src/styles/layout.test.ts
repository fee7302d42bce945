import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The primitives, and the parts that are made once. */
const LAYING_OUT = new Set(["layout.css", "parts.css"]);

test("only the layout primitives and the parts decide where things stand", () => {
  const found = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".css") && !LAYING_OUT.has(name))
    .filter((name) =>
      /display:\s*(?:inline-)?(?:grid|flex)/.test(readFileSync(join(import.meta.dirname, name), "utf8")),
    );
  expect(found).toEqual([]);
});
