import { readFileSync } from "node:fs";
import fc from "fast-check";
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

describe("starts_with and ends_with", () => {
  test("hold for the start and the end of a string, however long", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "€"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, (operand, rest) => {
        for (const actual of [operand + rest, rest + operand, rest]) {
          expect(OPERATORS.starts_with.explain(operand, actual)).toMatchObject({
            holds: actual.startsWith(operand),
          });
          expect(OPERATORS.ends_with.explain(operand, actual)).toMatchObject({
            holds: actual.endsWith(operand),
          });
        }
      }),
    );
  });

  test("take little longer for thousands of equal characters than for twenty", () => {
    const timeOf = (length: number): number => {
      const parse = (text: string): string => JSON.parse(JSON.stringify(text));
      const equal = "a".repeat(length - 1);
      const [starts, ends] = [parse(`${equal}b`), parse(`b${equal}`)];
      const [start, end] = [parse(`${equal}cd`), parse(`dc${equal}`)];
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 20; round++) {
        const startedAt = performance.now();
        for (let at = 0; at < 500; at++) {
          OPERATORS.starts_with.explain(starts, start);
          OPERATORS.ends_with.explain(ends, end);
        }
        least = Math.min(least, performance.now() - startedAt);
      }
      return least;
    };
    timeOf(20);
    expect(timeOf(7_000)).toBeLessThan(30 * timeOf(20));
  });
});
