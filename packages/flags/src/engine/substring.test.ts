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
  const text = "ab".repeat(2048);
  const [short, long] = [15, 127].map((pairs) => createSearch(`a${"ab".repeat(pairs)}`));
  // In turns, because a busy machine changes its speed. The least of each counts, because a run may be interrupted.
  const runs = Array.from({ length: 10 }, () => [short, long].map((find) => cpuOf(() => find?.(text))));
  const [least, most] = [0, 1].map((kind) => Math.min(...runs.map((run) => run[kind] ?? Number.NaN)));
  expect(most).toBeLessThan(3 * (least ?? Number.NaN));
});

/** CPU time in microseconds. */
function cpuOf(work: () => void): number {
  const start = process.cpuUsage();
  for (let count = 0; count < 200; count++) work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}
