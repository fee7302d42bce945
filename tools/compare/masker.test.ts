import { expect, test } from "vitest";
import { listIds, Masker } from "./masker.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const [ONE, OTHER, THIRD] = ["a1".repeat(16), "b2".repeat(16), "C3".repeat(16)];
const create = (known: readonly string[] = []) => new Masker(new Set(known), NOW);

test("equal ids get equal numbers, in the order in which they appear", () => {
  const masker = create();
  expect(masker.mask(`${ONE} ${OTHER} ${ONE}`)).toBe("<id 1> <id 2> <id 1>");
  expect(masker.mask(`own-${OTHER}`)).toBe("own-<id 2>");
});

test("ids that both builds know stay", () => {
  expect(create([ONE]).mask(`${ONE} ${OTHER}`)).toBe(`${ONE} <id 1>`);
  expect(listIds(`"${ONE}" 0190b7a4-0000-7000-8000-000000000001 word`)).toEqual(
    new Set([ONE, "0190b7a4-0000-7000-8000-000000000001"]),
  );
});

test("times of the run are masked, times that a script sends are not", () => {
  const text = `"2026-06-01T10:20:30.123Z" 2090-01-01T00:00:00Z ${NOW + 1000} 1000000000000 2026-06-01 10:20:30.12+00`;
  expect(create().mask(text)).toBe('"<time>" 2090-01-01T00:00:00Z <time> 1000000000000 <time>');
});

test("signed tokens are masked, long names are not", () => {
  const masker = create();
  expect(masker.mask(`${"aB3_".repeat(12)}.${"x-Y9".repeat(6)}`)).toBe("<token>");
  const code = "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_ORGANIZATION";
  expect(masker.mask(code)).toBe(code);
});

test("new ids do not decide the order of rows", () => {
  const [left, right] = [create(), create()];
  for (const masker of [left, right]) masker.mask(ONE);
  expect(left.maskSorted([`x ${THIRD}`, `y ${OTHER}`, ONE])).toEqual(
    right.maskSorted([ONE, `y ${THIRD}`, `x ${OTHER}`]),
  );
});
