import fc from "fast-check";
import { expect, test } from "vitest";
import { createSearch, MAX_SEARCHED_LENGTH } from "./substring.ts";

/** Texts of few letters, which parts almost match in many places. */
const letters = fc.constantFrom("a", "b", "é");
const part = fc.string({ unit: letters, maxLength: 12 });
const text = fc.string({ unit: letters, minLength: 200, maxLength: 600 });

test("a search finds what String.includes finds, in short and long texts", () => {
  fc.assert(
    fc.property(part, text, (part, text) => {
      expect(createSearch(part)(text)).toBe(text.includes(part));
    }),
    { numRuns: 3000 },
  );
});

test("a part at the start, at the end and of the whole text is found", () => {
  const filler = "ab".repeat(300);
  const find = createSearch("needle");
  expect([`needle${filler}`, `${filler}needle`, "needle"].map(find)).toEqual([true, true, true]);
  expect(createSearch("")(filler)).toBe(true);
});

test("a search reads 4,096 characters", () => {
  const find = createSearch("needle");
  expect(find(`${"a".repeat(MAX_SEARCHED_LENGTH - 6)}needle`)).toBe(true);
  expect(find(`${"a".repeat(MAX_SEARCHED_LENGTH - 5)}needle`)).toBe(false);
});

test("the costliest text takes time in proportion to its length, not to text × part", () => {
  const [text, find] = ["ab".repeat(2048), createSearch(`a${"ab".repeat(127)}`)];
  const includes = cpuOf(() => text.includes(`a${"ab".repeat(127)}`));
  expect(cpuOf(() => find(text))).toBeLessThan(includes / 2);
});

/** The least CPU time of several runs, in microseconds: a run may be interrupted. */
function cpuOf(work: () => boolean): number {
  const runs = Array.from({ length: 5 }, () => {
    const start = process.cpuUsage();
    for (let count = 0; count < 200; count++) work();
    const { user, system } = process.cpuUsage(start);
    return user + system;
  });
  return Math.min(...runs);
}
