/** Random changes of flags: a plan predicts exactly the users whose value differs after the change. */
import type { FeatureFlagPatch, JsonValue } from "@halyard/flags";
import { compileFlag, type FlagDefinition } from "@halyard/flags/engine";
import fc from "fast-check";
import type { Pool } from "pg";
import { expect } from "vitest";
import type { Host } from "./host.ts";

const PLANS = ["free", "team", "pro"] as const;

export interface User {
  readonly id: string;
  readonly plan: (typeof PLANS)[number];
}

/** Creates users directly in the table, because signing up takes much longer. */
export async function createUsers({ adapter }: Host, count: number): Promise<User[]> {
  const users: User[] = [];
  for (let at = 0; at < count; at++) {
    const plan = PLANS[at % PLANS.length] ?? "free";
    const now = new Date();
    const data = {
      name: `User ${at}`,
      email: `user-${at}@example.com`,
      emailVerified: true,
      createdAt: now,
      updatedAt: now,
      plan,
    };
    const { id } = await adapter.create<typeof data & { id: string }>({ model: "user", data });
    users.push({ id, plan });
  }
  return users;
}

/** The same in one statement on PostgreSQL. The ids are in no order, as those of Better Auth. */
export async function insertUsers(database: Pool, count: number): Promise<User[]> {
  const { rows } = await database.query<User>(
    `insert into "user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt", "plan")
    select md5(n::text), 'User ' || n, 'user-' || n || '@example.com', true, now(), now(), ($2::text[])[n % 3 + 1]
    from generate_series(0, $1::int - 1) as n
    returning "id", "plan"`,
    [count, PLANS],
  );
  return rows;
}

const word = fc.constantFrom("a", "b", "c");
const patch: fc.Arbitrary<FeatureFlagPatch> = fc.record(
  {
    enabled: fc.boolean(),
    defaultValue: word,
    offValue: word,
    rolloutPercentage: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constant(null)),
    variants: fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 100 }).map((weight) => [
        { key: "left", weight, value: "left" },
        { key: "right", weight: 100 - weight, value: "right" },
      ]),
    ),
    salt: fc.constantFrom("salt-1", "salt-2"),
  },
  { requiredKeys: [] },
);
const rule = fc.record({
  plan: fc.constantFrom(...PLANS),
  value: word,
  percentage: fc.integer({ min: 0, max: 100 }),
  priority: fc.integer({ min: 0, max: 5 }),
});

/** Plans of one change that may be samples. */
const MOST_SAMPLES = 20;

/** `users` are all users of the host. Throws with the seed when a plan is wrong. */
export async function checkPlans(host: Host, users: readonly User[], changes: number): Promise<void> {
  const { api } = host.auth;
  const { id: flagId } = await api.createFeatureFlag({
    body: { key: "planned", name: "Planned", type: "string", enabled: true, defaultValue: "a" },
  });
  for (const { id: userId } of users.slice(0, 3)) {
    await api.createFeatureFlagOverride({ body: { flagId, userId, value: "own" } });
  }

  /** Evaluated from what the API returns about the flag, without the code of plans. */
  async function valuesNow(): Promise<Map<string, JsonValue>> {
    const [flag, { rules }, { overrides }] = await Promise.all([
      api.getFeatureFlag({ params: { id: flagId } }),
      api.listFeatureFlagRules({ params: { flagId } }),
      api.listFeatureFlagOverrides({ query: { flagId } }),
    ]);
    const definition = {
      ...flag,
      rules: rules.map((one) => ({ ...one, salt: one.id })),
    } as unknown as FlagDefinition;
    const compiled = compileFlag(definition, new Map());
    const overrideOf = new Map(overrides.map(({ userId, value }) => [userId, { value }]));
    return new Map(
      users.map(({ id, plan }) => [
        id,
        compiled.evaluate({ userId: id, user: { plan } }, overrideOf.get(id)).value,
      ]),
    );
  }

  const change = fc.record({ fields: patch, rule: fc.option(rule, { freq: 3 }), probe: fc.nat() });
  await fc.assert(
    fc.asyncProperty(change, async ({ fields, rule: added, probe }) => {
      const { rules } = await api.listFeatureFlagRules({ params: { flagId } });
      if (rules.length > 4) {
        for (const { id: ruleId } of rules) await api.deleteFeatureFlagRule({ body: { flagId, ruleId } });
      }
      if (added !== null) {
        const { plan, ...body } = added;
        const conditions = {
          conditions: [{ attribute: "user.plan", operator: "equals" as const, value: plan }],
        };
        await api.createFeatureFlagRule({ body: { flagId, conditions, ...body } });
      }
      const before = await valuesNow();
      const makePlan = () => api.planFeatureFlags({ body: { changes: [{ flagId, fields }] } });
      let plan = await makePlan();
      // On a busy machine a plan may reach its time limit, and says so.
      for (let more = 0; more < MOST_SAMPLES && plan.users.sampled; more++) plan = await makePlan();
      const [impact] = plan.changes;
      await api.applyFeatureFlagPlan({ body: { id: plan.id } });
      const after = await valuesNow();

      const moves = new Map<string, number>();
      const moved = new Set<string>();
      for (const [id, from] of before) {
        const to = after.get(id);
        if (from === to) continue;
        moved.add(id);
        const key = JSON.stringify([from, to]);
        moves.set(key, (moves.get(key) ?? 0) + 1);
      }
      expect(plan.users).toEqual({ total: users.length, evaluated: users.length, sampled: false });
      expect(
        new Map(impact?.moves.map(({ from, to, count }) => [JSON.stringify([from, to]), count])),
      ).toEqual(moves);
      expect([impact?.moved, impact?.unknown]).toEqual([moved.size, 0]);
      for (const { userId } of impact?.examples ?? []) expect(moved.has(userId)).toBe(true);
      expect(impact?.examples).toHaveLength(Math.min(20, moved.size));

      // And as the application would ask for one of them.
      const user = users[probe % users.length];
      const evaluated = await api.evaluateFeatureFlag({
        body: { flagKey: "planned", context: { userId: user?.id ?? "" } },
      });
      expect(evaluated.value).toBe(after.get(user?.id ?? ""));
    }),
    { numRuns: changes },
  );
}
