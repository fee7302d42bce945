import { describe, expect, test } from "vitest";
import { UpgradeGate, type UpgradeLimits } from "./upgrade-gate.ts";

function gateOf(limits: UpgradeLimits, random = 0.5) {
  const state = { now: 0, connections: 0 };
  const gate = new UpgradeGate(
    limits,
    () => state.connections,
    () => state.now,
    () => random,
  );
  const enter = (times: number) => Array.from({ length: times }, () => gate.enter());
  return { state, gate, enter };
}

describe("the upgrade gate", () => {
  test("admits all upgrades by default, with a limit of pending ones", () => {
    const { gate, enter } = gateOf({});
    expect(enter(1_000).every((refusal) => refusal === undefined)).toBe(true);
    expect(gate.enter()).toEqual({ kind: "pending" });
    gate.leave();
    expect(gate.enter()).toBeUndefined();
  });

  test("counts pending upgrades as connections", () => {
    const { state, gate } = gateOf({ maxConnections: 2 });
    expect(gate.enter()).toBeUndefined();
    expect(gate.enter()).toBeUndefined();
    expect(gate.enter()).toMatchObject({ kind: "later" });
    gate.leave();
    gate.leave();
    state.connections = 1;
    expect(gate.enter()).toBeUndefined();
    expect(gate.enter()).toMatchObject({ kind: "later" });
  });

  test("admits a number of upgrades per second, with bursts of at most one second", () => {
    const { state, gate, enter } = gateOf({ maxUpgradesPerSecond: 10 });
    const allowed = (times: number) => {
      const entered = enter(times).filter((refusal) => refusal === undefined).length;
      for (let i = 0; i < entered; i++) gate.leave();
      return entered;
    };
    expect(allowed(50)).toBe(10);
    state.now += 500;
    expect(allowed(50)).toBe(5);
    state.now += 60_000;
    expect(allowed(50)).toBe(10);
  });

  test("spreads refused upgrades over more time the more there are", () => {
    const { state, gate, enter } = gateOf({ maxUpgradesPerSecond: 100 }, 1);
    enter(100);
    const waits = enter(1_000).map((refusal) => (refusal?.kind === "later" ? refusal.retryAfterMs : 0));
    expect(waits[0]).toBe(1_010);
    expect(waits.at(-1)).toBe(11_000);
    const many = enter(100_000).map((refusal) => (refusal?.kind === "later" ? refusal.retryAfterMs : 0));
    expect(Math.max(...many.slice(-1))).toBe(30_000);
    state.now += 10_000;
    for (let i = 0; i < 100; i++) gate.leave();
    enter(100);
    expect(gate.enter()).toEqual({ kind: "later", retryAfterMs: 1_010 });
  });

  test.each(["maxPendingUpgrades", "maxConnections", "maxUpgradesPerSecond"])(
    "refuses %s below 1",
    (name) => {
      for (const value of [0, -1, Number.NaN]) expect(() => gateOf({ [name]: value })).toThrow(TypeError);
    },
  );
});
