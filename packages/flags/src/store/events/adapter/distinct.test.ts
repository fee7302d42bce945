import { expect, test } from "vitest";
import { DistinctCounter } from "./distinct.ts";

test("distinct users are counted exactly up to the limit", () => {
  const counter = new DistinctCounter(1000);
  for (let index = 0; index < 3000; index++) counter.add(`user-${index % 1000}`);
  expect(counter.count()).toBe(1000);
});

test("above the limit they are counted with an error of a few percent, even with repeated users", () => {
  const counter = new DistinctCounter(4096);
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 200_000; index++) counter.add(`user-${index}`);
  }
  expect(counter.count()).toBeGreaterThan(190_000);
  expect(counter.count()).toBeLessThan(210_000);
});
