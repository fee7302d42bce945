import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { GENERATED_OPERATORS } from "../../test/engine/generate.ts";
import { OPERATORS } from "./operators.ts";

/** The rows of the table under "### Operators": the operators of the first column, each with the text of the second. */
function documentedOperators(): Record<string, string> {
  const page = readFileSync(new URL("../../../../docs/guide/flags-targeting.md", import.meta.url), "utf8");
  const section = page.split("\n### Operators\n")[1]?.split("\n### ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return Object.fromEntries(
    rows.map((row) => {
      const [, names = "", text = ""] = row.split("|");
      return [names.trim().replaceAll("`", ""), text.trim()];
    }),
  );
}

describe("the operator table", () => {
  test("is documented operator by operator in the targeting guide", () => {
    const documented = Object.entries(OPERATORS).map(([name, { documentation }]) => [name, documentation]);
    expect(documentedOperators()).toEqual(Object.fromEntries(documented));
  });

  test("is covered by the generated flags that are compared with the reference evaluation", () => {
    expect([...GENERATED_OPERATORS].sort()).toEqual(Object.keys(OPERATORS).sort());
  });
});
