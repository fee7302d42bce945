/** Checks that two people who edit one flag never overwrite each other: on a model of the server, and on a real one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryHost } from "../../../flags/test/memory-host.ts";
import type {
  FeatureFlagPlan,
  FlagImpact,
  JsonValue,
  PlannedFlagChange,
  Rule,
} from "../../app/src/api/types.ts";
import { RULE_FIELDS, readCell, type Stored, writeCell } from "../../app/src/flag/draft/cells.ts";
import { type Backend, cellsOf, conditionsOf, runSteps, SEGMENT, step } from "./editor.ts";

const AT = "2026-01-01T00:00:00.000Z";
const USERS = Array.from({ length: 12 }, (_, n) => `user-${n}`);
const START: Stored = {
  flag: {
    id: "f",
    key: "sale",
    name: "Sale",
    type: "boolean",
    enabled: true,
    offValue: false,
    rolloutPercentage: 20,
    environments: { production: { rolloutPercentage: 25 } },
    visibility: "public",
    algo: 1,
    version: 1,
    createdAt: AT,
    updatedAt: AT,
  },
  rules: ["a", "b", "c"].map((id, place) => ({
    id,
    flagId: "f",
    priority: place + 1,
    position: place,
    version: 1,
    salt: id,
    createdAt: AT,
    conditions: conditionsOf(USERS, 3 * place + 1),
    value: place % 2 === 0,
    enabled: true,
  })),
};

class Refused extends Error {}

interface MadePlan {
  readonly change: PlannedFlagChange;
  readonly from: Stored;
  readonly moves: FlagImpact["moves"];
}

/** The rules of the server: versions are checked when a plan is made, touched fields and counts when it is applied. */
class ModelServer implements Backend {
  readonly users = USERS;
  #stored = START;
  #members: readonly string[] = USERS.slice(0, 4);
  readonly #plans = new Map<string, MadePlan>();
  readonly #next = counter();

  read = async (): Promise<Stored> => this.#stored;
  values = async (): Promise<readonly boolean[]> => USERS.map((id) => this.#valueFor(this.#stored, id));
  isRefusal = (error: unknown): boolean => error instanceof Refused;

  async setMembers(count: number): Promise<void> {
    this.#members = USERS.slice(0, count);
  }

  async plan(change: PlannedFlagChange, isStored: boolean): Promise<FeatureFlagPlan> {
    const { rules = {}, version } = change;
    if (version !== this.#stored.flag.version) throw new Refused("version of the flag");
    for (const one of [...(rules.update ?? []), ...(rules.delete ?? [])]) {
      const rule = typeof one === "string" ? undefined : this.#stored.rules.find(({ id }) => id === one.id);
      if (typeof one === "string" || rule?.version !== one.version) throw new Refused("version of a rule");
    }
    const moves = this.#movesTo(this.#after(change));
    const rest = {
      version: 1,
      unchanged: 0,
      unknown: 0,
      online: 0,
      examples: [],
      moved: 0,
      rules: [],
      values: [],
    };
    const id = `plan-${this.#next()}`;
    if (isStored) this.#plans.set(id, { change, from: this.#stored, moves });
    return {
      users: { total: USERS.length, evaluated: USERS.length, sampled: false },
      changes: [{ flagId: "f", flagKey: "sale", moves, ...rest }],
      onlineSource: "none",
      ...(isStored && { id }),
    };
  }

  async apply(id: string): Promise<{ changeId: string }> {
    const plan = this.#plans.get(id);
    if (plan === undefined) throw new Refused("unknown plan");
    const { change, from, moves } = plan;
    const now = this.#stored;
    for (const cell of cellsOf(change)) refuseOther(readCell(from, cell), readCell(now, cell));
    const changed = [...(change.rules?.delete ?? []), ...(change.rules?.update ?? [])];
    for (const one of changed) {
      const find = ({ rules }: Stored) =>
        rules.find(({ id: rule }) => rule === (typeof one === "string" ? one : one.id));
      if (find(now) === undefined || !("fields" in Object(one))) refuseOther(find(from), find(now));
      if ("priority" in Object(Object(one).fields)) refuseOther(find(from)?.priority, find(now)?.priority);
    }
    const after = this.#after(change);
    refuseOther(moves, this.#movesTo(after));
    this.#stored = after;
    return { changeId: id };
  }

  #after({ fields = {}, rules = {} }: PlannedFlagChange): Stored {
    let next = this.#stored;
    const { environments, ...own } = fields;
    for (const cell of cellsOf({ flagId: "f", fields })) {
      const patch: object = cell.environment === undefined ? own : (environments?.[cell.environment] ?? {});
      next = writeCell(
        next,
        cell,
        new Map<string, JsonValue>(Object.entries(patch)).get(cell.field) ?? undefined,
      );
    }
    for (const { id, fields: patch } of rules.update ?? []) {
      const values = new Map<string, JsonValue>(Object.entries(patch));
      for (const field of RULE_FIELDS)
        if (values.has(field)) next = writeCell(next, { rule: id, field }, values.get(field) ?? undefined);
      const write = (rule: Rule): Rule =>
        rule.id === id
          ? { ...rule, version: rule.version + 1, priority: patch.priority ?? rule.priority }
          : rule;
      next = { ...next, rules: next.rules.map(write) };
    }
    const gone = new Set((rules.delete ?? []).map((one) => (typeof one === "string" ? one : one.id)));
    const created = (rules.create ?? []).map((input): Rule => {
      const position = 100 + this.#next();
      const id = `rule-${position}`;
      return { ...START.rules[0], ...input, id, salt: id, version: 1, position } as Rule;
    });
    const all = [...next.rules.filter(({ id }) => !gone.has(id)), ...created];
    const order = all.toSorted((x, y) => x.priority - y.priority || x.position - y.position);
    return { flag: { ...next.flag, version: next.flag.version + 1 }, rules: order };
  }

  #movesTo(after: Stored): FlagImpact["moves"] {
    const pairs = USERS.map((id) => [this.#valueFor(this.#stored, id), this.#valueFor(after, id)] as const);
    return [true, false]
      .map((from) => ({
        from,
        to: !from,
        count: pairs.filter(([was, is]) => was === from && is !== from).length,
      }))
      .filter(({ count }) => count > 0);
  }

  #valueFor({ flag, rules }: Stored, userId: string): boolean {
    const own = flag.environments?.["production"] ?? {};
    if (!(own.enabled ?? flag.enabled)) return false;
    const rule = rules.find(({ enabled, conditions: { conditions } }) => {
      const [condition] = conditions;
      const ids = condition !== undefined && "value" in condition ? condition.value : this.#members;
      return enabled && Array.isArray(ids) && ids.includes(userId);
    });
    if (rule !== undefined) return rule.value === true;
    return USERS.indexOf(userId) * 8 < (own.rolloutPercentage ?? flag.rolloutPercentage ?? 100);
  }
}

function counter(): () => number {
  let count = 0;
  return () => {
    count += 1;
    return count;
  };
}

function refuseOther(one: unknown, other: unknown): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Refused("drift");
}

describe("two people who edit one flag", () => {
  it("never overwrite what they have not seen, and never save another count than the one shown", async () => {
    let saves = 0;
    const steps = fc.array(step, { minLength: 20, maxLength: 60 });
    const property = fc.asyncProperty(steps, async (run) => {
      saves += await runSteps(new ModelServer(), run);
    });
    await fc.assert(property, { numRuns: 500 });
    expect(saves).toBeGreaterThan(500);
  });

  it("never do on the server, either", async () => {
    const host = await memoryHost({ flags: { environments: { default: "production" } } });
    const people = await Promise.all(USERS.map((name) => host.person(name)));
    const users = people.map(({ id }) => id);
    const { api } = host.auth;
    await api.createFeatureFlagSegment({
      body: {
        key: SEGMENT,
        conditions: { conditions: [{ attribute: "userId", operator: "in", value: users }] },
      },
    });
    let saves = 0;
    const next = counter();
    const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (run) => {
      const key = `sale-${next()}`;
      const body = { key, name: "Sale", type: "boolean", enabled: true, offValue: false } as const;
      const flag = await api.createFeatureFlag({
        body: { ...body, rolloutPercentage: 20, environments: { production: { rolloutPercentage: 25 } } },
      });
      for (const [place, value] of [true, false, true].entries()) {
        const conditions = conditionsOf(users, 3 * place + 1);
        await api.createFeatureFlagRule({
          body: { flagId: flag.id, priority: place + 1, conditions, value },
        });
      }
      const sent = <Value>(value: Value) => JSON.parse(JSON.stringify(value));
      saves += await runSteps(
        {
          users,
          read: async () => ({
            flag: sent(await api.getFeatureFlag({ params: { id: flag.id } })),
            rules: sent((await api.listFeatureFlagRules({ params: { flagId: flag.id } })).rules),
          }),
          plan: (change, isStored) =>
            api.planFeatureFlags({ body: { changes: [change], preview: !isStored } }),
          apply: (id) => api.applyFeatureFlagPlan({ body: { id } }),
          values: async () => {
            const evaluated = users.map((userId) =>
              api.evaluateFeatureFlag({ body: { flagKey: key, context: { userId } } }),
            );
            return (await Promise.all(evaluated)).map(({ value }) => value);
          },
          setMembers: async (count) => {
            const value = users.slice(0, count);
            const conditions = { conditions: [{ attribute: "userId", operator: "in" as const, value }] };
            await api.updateFeatureFlagSegment({ body: { id: `key:${SEGMENT}`, conditions } });
          },
          isRefusal: (error) =>
            error instanceof Error && [404, 409].includes(Reflect.get(error, "statusCode")),
        },
        run,
      );
    });
    await fc.assert(property, { numRuns: 40 });
    expect(saves).toBeGreaterThan(20);
  }, 240_000);
});
