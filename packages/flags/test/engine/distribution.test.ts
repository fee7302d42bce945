import { type CompiledFlag, compileFlag, type FlagDefinition } from "@halyard/flags/engine";
import { sized } from "@halyard/services";
import { describe, expect, test } from "vitest";

const USERS = sized(1_000_000, 200_000);

const NO_SEGMENTS = new Map();
const VARIANTS = [
  { key: "a", weight: 20, value: "A" },
  { key: "b", weight: 30.5, value: "B" },
  { key: "c", weight: 49.5, value: "C" },
];

function compile(fields: Partial<FlagDefinition>): CompiledFlag {
  return compileFlag({ key: "flag", type: "string", enabled: true, rules: [], ...fields }, NO_SEGMENTS);
}

function rolledOut(key: string, rolloutPercentage: number): (userId: string) => boolean {
  const flag = compileFlag(
    { key, type: "boolean", enabled: true, rules: [], rolloutPercentage },
    NO_SEGMENTS,
  );
  return (userId) => flag.evaluate({ userId }).reason === "percentage_rollout";
}

describe(`over ${USERS} users`, () => {
  test("a rollout includes its percentage of users within 0.3 percentage points", () => {
    for (const percentage of [1, 10, 50, 90]) {
      const isIn = rolledOut(`share-${percentage}`, percentage);
      let count = 0;
      for (let user = 0; user < USERS; user++) if (isIn(`user-${user}`)) count += 1;
      expect(Math.abs((count / USERS) * 100 - percentage), `${percentage} %`).toBeLessThan(0.3);
    }
  });

  test("variants and a rule's percentage get their shares within 0.3 percentage points", () => {
    const conditions = { conditions: [] };
    const flag = compile({
      variants: VARIANTS,
      rules: [{ id: "r", enabled: true, salt: "s", conditions, value: "rule", percentage: 33.3 }],
    });
    const counts = new Map<string, number>();
    for (let user = 0; user < USERS; user++) {
      const { reason, variant = reason } = flag.evaluate({ userId: `user-${user}` });
      counts.set(variant, (counts.get(variant) ?? 0) + 1);
    }
    const share = (name: string): number => ((counts.get(name) ?? 0) / USERS) * 100;
    expect(Math.abs(share("rule_match") - 33.3)).toBeLessThan(0.3);
    for (const { key, weight } of VARIANTS) {
      expect(Math.abs(share(key) - weight * 0.667), key).toBeLessThan(0.3);
    }
  });

  test("any two flags at 10 % are uncorrelated", () => {
    const keys = ["flag-aa", "flag-ab", "flag-zz", "checkout", "checkout-2", "Checkout"];
    const members = keys.map((key) => {
      const isIn = rolledOut(key, 10);
      return Uint8Array.from({ length: USERS }, (_, user) => (isIn(`user-${user}`) ? 1 : 0));
    });
    members.forEach((first, index) => {
      for (const [place, second] of members.slice(index + 1).entries()) {
        const pair = `${keys[index]} and ${keys[index + 1 + place]}`;
        expect(Math.abs(phi(first, second)), pair).toBeLessThan(0.015);
      }
    });
  });
});

describe("a growing rollout", () => {
  const steps = [0, 1, 5, 20, 21, 60, 100];

  test("keeps every user who was included", () => {
    const rollouts = steps.map((percentage) => rolledOut("growing", percentage));
    for (let user = 0; user < USERS; user++) {
      let wasIn = false;
      for (const isIn of rollouts) {
        const now = isIn(`user-${user}`);
        if (wasIn && !now) expect.unreachable(`user-${user} left`);
        wasIn = now;
      }
      if (!wasIn) expect.unreachable(`user-${user} is outside of 100 %`);
    }
  });

  test("moves no user to another variant", () => {
    const flags = steps.map((rolloutPercentage) => compile({ variants: VARIANTS, rolloutPercentage }));
    for (let user = 0; user < USERS; user++) {
      const variants = flags.map((flag) => flag.evaluate({ userId: `user-${user}` }).variant);
      const distinct = new Set(variants.filter((variant) => variant !== undefined));
      if (distinct.size !== 1) expect.unreachable(`user-${user} was in ${[...distinct].join(", ")}`);
    }
  });

  test("of a rule keeps every user who was included", () => {
    const flags = [0, 0.5, 10, 33.3, 100].map((percentage) =>
      compile({
        rules: [
          { id: "r", enabled: true, salt: "s", conditions: { conditions: [] }, value: "rule", percentage },
        ],
      }),
    );
    for (let user = 0; user < USERS; user++) {
      const included = flags.map((flag) => flag.evaluate({ userId: `user-${user}` }).reason === "rule_match");
      if (included.lastIndexOf(false) > included.indexOf(true) && included.includes(true)) {
        expect.unreachable(`user-${user} left`);
      }
    }
  });
});

/** The correlation of two lists of 0 and 1 (phi coefficient). */
function phi(first: Uint8Array, second: Uint8Array): number {
  const counts = [0, 0, 0, 0];
  for (let index = 0; index < first.length; index++) {
    const cell = (first[index] ?? 0) * 2 + (second[index] ?? 0);
    counts[cell] = (counts[cell] ?? 0) + 1;
  }
  const [neither = 0, one = 0, other = 0, both = 0] = counts;
  const margins = (both + one) * (both + other) * (neither + one) * (neither + other);
  return (both * neither - one * other) / Math.sqrt(margins);
}
