import { expect, test } from "vitest";
import { Experiment } from "./experiment.ts";

const shown = (who: string, arm: string) => ({ who, arm, byChance: true, atMs: 0 });
const bought = (who: string | undefined, arm?: string) => ({
  who,
  first: arm === undefined ? undefined : { arm, byChance: true },
  name: "buy",
  value: 2,
  weight: 1,
});

test("users and converters are counted exactly up to the limit", () => {
  const experiment = new Experiment(1000);
  for (let index = 0; index < 1000; index++) experiment.expose(shown(`u${index}`, index % 2 ? "a" : "b"));
  for (let index = 0; index < 1000; index += 4) experiment.credit(bought(`u${index}`, "b"));
  const { uniqueUsers, exposures, events } = experiment.figures();
  expect([uniqueUsers, exposures.get("a"), exposures.get("b")]).toEqual([
    1000,
    { exposures: 500, uniqueUsers: 500 },
    { exposures: 500, uniqueUsers: 500 },
  ]);
  expect(events.get("b")?.get("buy")).toEqual({ count: 250, sum: 500, valued: 250, converters: 250 });
});

test("above the limit they are counted with an error of a few percent, and events exactly", () => {
  const experiment = new Experiment(4096);
  for (let index = 0; index < 200_000; index++) {
    experiment.expose(shown(`user-${index}`, index % 4 === 0 ? "a" : "b"));
  }
  for (let index = 0; index < 200_000; index += 2) {
    experiment.credit(bought(`user-${index}`, index % 4 === 0 ? "a" : "b"));
  }
  const { uniqueUsers, exposures, events } = experiment.figures();
  expect(Math.abs(uniqueUsers / 200_000 - 1)).toBeLessThan(0.05);
  expect(Math.abs((exposures.get("a")?.uniqueUsers ?? 0) / 50_000 - 1)).toBeLessThan(0.08);
  expect(Math.abs((events.get("a")?.get("buy")?.converters ?? 0) / 50_000 - 1)).toBeLessThan(0.08);
  expect(events.get("b")?.get("buy")?.sum).toBe(100_000);
});

test("events of unknown subjects are counted exactly", () => {
  const experiment = new Experiment(10);
  for (let index = 0; index < 100; index++) experiment.expose(shown(`u${index}`, "a"));
  for (let index = 0; index < 7; index++) {
    experiment.credit({ ...bought(undefined), value: 0.1 });
  }
  expect(experiment.figures().events.get("")?.get("buy")).toEqual({
    count: 7,
    sum: 0.7,
    valued: 7,
    converters: 0,
  });
});

test.each([0, 4096])("converters without an exposure are sampled too, beside %i exposed users", (exposed) => {
  const experiment = new Experiment(1024);
  for (let index = 0; index < exposed; index++) experiment.expose(shown(`exposed-${index}`, "a"));
  for (let index = 0; index < 200_000; index++) experiment.credit(bought(`other-${index}`));
  const converters = experiment.figures().events.get("")?.get("buy")?.converters ?? 0;
  expect(Math.abs(converters / 200_000 - 1)).toBeLessThan(0.15);
  // At most 1,024 users are kept, so each stands for a power of two of at least 128.
  expect(converters % 128).toBe(0);
});
