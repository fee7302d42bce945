/** Random drafts of a flag with rules, overrides and a segment: a plan predicts exactly the users whose value differs after the change. */
import type { FeatureFlagPatch, JsonValue, PlannedChange } from "@halyard/flags";
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
const GROUP = "group";
const conditions = fc.oneof(
  fc.constantFrom(...PLANS).map((plan) => ({
    conditions: [{ attribute: "user.plan", operator: "equals" as const, value: plan }],
  })),
  fc.constant({ conditions: [{ segment: GROUP }] }),
  fc.constant({ conditions: [] }),
);
const percentage = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constant(undefined));
const priority = fc.integer({ min: 0, max: 5 });
const newRules = fc.array(
  fc.record({ conditions, value: word, percentage, priority, salt: fc.constantFrom("one", "two") }),
  { maxLength: 2 },
);
const ruleFields = fc.record(
  { conditions, value: word, percentage, priority, enabled: fc.boolean() },
  { requiredKeys: [] },
);
const draft = fc.record({
  fields: patch,
  added: newRules,
  /** What happens to the rules that exist, from the first one on. */
  rules: fc.array(fc.oneof(fc.constantFrom("kept" as const, "deleted" as const), ruleFields), {
    maxLength: 5,
  }),
  /** Users who get an override, or lose theirs. */
  overridden: fc.uniqueArray(fc.nat(11), { maxLength: 3 }),
  group: fc.option(fc.constantFrom(...PLANS), { freq: 3 }),
  probe: fc.nat(),
});

/** Plans of one draft that may be samples. */
const MOST_SAMPLES = 20;

/** `users` are all users of the host. Throws with the seed when a plan is wrong. */
export async function checkPlans(host: Host, users: readonly User[], drafts: number): Promise<void> {
  const { api } = host.auth;
  const { id: flagId } = await api.createFeatureFlag({
    body: { key: "planned", name: "Planned", type: "string", enabled: true, defaultValue: "a" },
  });
  await api.createFeatureFlagSegment({ body: { key: GROUP, conditions: { conditions: [] } } });
  await api.createFeatureFlagRule({
    body: { flagId, priority: 3, conditions: { conditions: [{ segment: GROUP }] }, value: "c" },
  });

  /** What the API returns about the flag, evaluated without the code of plans. */
  async function now() {
    const [flag, { rules }, { overrides }, { segments }] = await Promise.all([
      api.getFeatureFlag({ params: { id: flagId } }),
      api.listFeatureFlagRules({ params: { flagId } }),
      api.listFeatureFlagOverrides({ query: { flagId } }),
      api.listFeatureFlagSegments(),
    ]);
    const compiled = compileFlag(
      { ...flag, rules } as unknown as FlagDefinition,
      new Map(segments.map((segment) => [segment.key, segment.conditions])),
    );
    const overrideOf = new Map(overrides.map(({ userId, value }) => [userId, { value }]));
    const values = new Map<string, JsonValue>(
      users.map(({ id, plan }) => [
        id,
        compiled.evaluate({ userId: id, user: { plan } }, overrideOf.get(id)).value,
      ]),
    );
    return { flag, rules, overrides, values };
  }

  await fc.assert(
    fc.asyncProperty(draft, async ({ fields, added, rules: edits, overridden, group, probe }) => {
      const before = await now();
      const rules = { create: added, update: [] as object[], delete: [] as string[] };
      for (const [at, { id }] of before.rules.entries()) {
        const edit = before.rules.length > 6 ? "deleted" : (edits[at] ?? "kept");
        if (edit === "deleted") rules.delete.push(id);
        else if (edit !== "kept") rules.update.push({ id, fields: edit });
      }
      const overrides = { create: [] as { userId: string; value: string }[], delete: [] as string[] };
      for (const at of overridden) {
        const userId = users[at]?.id ?? "";
        const stored = before.overrides.find((override) => override.userId === userId);
        if (stored === undefined) overrides.create.push({ userId, value: "own" });
        else overrides.delete.push(stored.id);
      }
      const ofGroup = { conditions: [{ attribute: "user.plan", operator: "equals", value: group }] };
      const changes = [
        { flagId, fields, rules, overrides },
        ...(group === null ? [] : [{ segmentKey: GROUP, fields: { conditions: ofGroup } }]),
      ] as readonly PlannedChange[];
      const preview = await api.planFeatureFlags({ body: { changes, preview: true } });
      expect(await now()).toEqual(before);
      let plan = await api.planFeatureFlags({ body: { changes } });
      // On a busy machine a plan may reach its time limit, and says so.
      for (let more = 0; more < MOST_SAMPLES && plan.users.sampled; more++) {
        plan = await api.planFeatureFlags({ body: { changes } });
      }
      const [impact] = plan.changes;
      await api.applyFeatureFlagPlan({ body: { id: plan.id } });
      const after = await now();

      const moves = new Map<string, number>();
      const moved = new Set<string>();
      for (const [id, from] of before.values) {
        const to = after.values.get(id);
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
      if (!preview.users.sampled) expect(preview.changes[0]?.moves).toEqual(impact?.moves);

      // Every user whom neither the switch nor an override decides is decided by a rule, or by none.
      const decided = impact?.rules.reduce((sum, rule) => sum + rule.after, 0);
      expect(decided).toBe(after.flag.enabled ? users.length - after.overrides.length : 0);
      expect(impact?.rules.map(({ ruleId }) => ruleId)).toHaveLength(after.rules.length + 1);

      // And as the application would ask for one of them.
      const user = users[probe % users.length];
      const evaluated = await api.evaluateFeatureFlag({
        body: { flagKey: "planned", context: { userId: user?.id ?? "" } },
      });
      expect(evaluated.value).toBe(after.values.get(user?.id ?? ""));
    }),
    { numRuns: drafts },
  );
}
