import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FeatureFlagPlan, FlagImpact, JsonValue, Rule } from "../../api/types.ts";
import { type Cell, RULE_FIELDS, readCell, type Stored, writeCell } from "./cells.ts";
import { changesOf, planOf } from "./changes.ts";
import {
  addRule,
  conflictsOf,
  type Draft,
  deleteRule,
  EMPTY_DRAFT,
  edit,
  isEmpty,
  keepMine,
  moveRule,
  takeTheirs,
} from "./draft.ts";
import { savePlan } from "./save.ts";

const AT = "2026-01-01T00:00:00.000Z";
const USERS = Array.from({ length: 40 }, (_, n) => n);
const below = (value: number): Rule["conditions"] => ({
  conditions: [{ attribute: "n", operator: "less_than", value }],
});
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
    conditions: below(5 * (place + 1)),
    value: place % 2 === 0,
    enabled: true,
  })),
};

class Refused extends Error {}

/** What the plan would change, as the server understands it: no part of it comes from the draft. */
interface Change {
  readonly version?: number;
  readonly fields?: Record<string, JsonValue | Record<string, Record<string, JsonValue>>>;
  readonly rules?: {
    readonly create?: readonly Record<string, JsonValue>[];
    readonly update?: readonly { id: string; version: number; fields: Record<string, JsonValue> }[];
    readonly delete?: readonly { id: string; version: number }[];
  };
}

interface MadePlan {
  readonly change: Change;
  readonly from: Stored;
  readonly counts: unknown;
}

/** The rules of the server: versions are checked when a plan is made, touched fields and counts when it is applied. */
class Server {
  stored = START;
  /** A segment that rules name, or the people themselves: other users match from then on. */
  shift = 0;
  readonly #plans = new Map<string, MadePlan>();
  #made = 0;
  #rules = 0;

  plan(change: Change, isStored: boolean): FeatureFlagPlan {
    this.#refuseOther(change);
    const changes = [impactOf(this.stored, this.#after(change), this.shift)];
    const base = { users: { total: USERS.length, evaluated: USERS.length, sampled: false }, changes };
    if (!isStored) return { ...base, onlineSource: "none" };
    this.#made += 1;
    const id = `plan-${this.#made}`;
    this.#plans.set(id, { change, from: this.stored, counts: changes[0]?.moves });
    return { ...base, id, onlineSource: "none" };
  }

  apply(id: string): { changeId: string; before: Stored } {
    const plan = this.#plans.get(id);
    if (plan === undefined) throw new Refused("unknown plan");
    const { change, from, counts } = plan;
    const before = this.stored;
    for (const cell of touched(change)) {
      if (JSON.stringify(readCell(from, cell)) !== JSON.stringify(readCell(before, cell)))
        throw new Refused("drift");
    }
    for (const { id: rule } of change.rules?.delete ?? []) {
      const [one, other] = [from, before].map(({ rules }) => rules.find((found) => found.id === rule));
      if (one?.version !== other?.version) throw new Refused("drift of a deleted rule");
    }
    const orders = [from, before].map(({ rules }) => rules.map(({ id: rule, priority }) => [rule, priority]));
    const isReordered = change.rules?.update?.some(({ fields }) => "priority" in fields) === true;
    if (isReordered && JSON.stringify(orders[0]) !== JSON.stringify(orders[1])) throw new Refused("order");
    const after = this.#after(change);
    if (JSON.stringify(impactOf(before, after, this.shift).moves) !== JSON.stringify(counts))
      throw new Refused("counts");
    this.stored = after;
    this.#plans.delete(id);
    return { changeId: id, before };
  }

  #refuseOther({ version, rules = {} }: Change): void {
    if (version !== this.stored.flag.version) throw new Refused("version");
    for (const one of [...(rules.update ?? []), ...(rules.delete ?? [])]) {
      const rule = this.stored.rules.find(({ id }) => id === one.id);
      if (rule?.version !== one.version) throw new Refused("version of a rule");
    }
  }

  #after({ fields = {}, rules = {} }: Change): Stored {
    let next = this.stored;
    for (const cell of touched({ fields })) {
      const own =
        cell.environment === undefined ? fields : (fields["environments"] as never)[cell.environment];
      next = writeCell(
        next,
        cell,
        ((own as Record<string, JsonValue>)[cell.field] ?? undefined) as JsonValue,
      );
    }
    for (const { id, fields: own } of rules.update ?? []) {
      for (const field of RULE_FIELDS) {
        if (field in own) next = writeCell(next, { rule: id, field }, own[field] ?? undefined);
      }
      next = {
        ...next,
        rules: next.rules.map((rule) =>
          rule.id === id
            ? { ...rule, version: rule.version + 1, priority: Number(own["priority"] ?? rule.priority) }
            : rule,
        ),
      };
    }
    const gone = new Set((rules.delete ?? []).map(({ id }) => id));
    const created = (rules.create ?? []).map((own): Rule => {
      this.#rules += 1;
      const id = `rule-${this.#rules}`;
      return { ...START.rules[0], id, salt: id, version: 1, position: 100 + this.#rules, ...own } as Rule;
    });
    const all = [...next.rules.filter(({ id }) => !gone.has(id)), ...created];
    const order = all.toSorted((x, y) => x.priority - y.priority || x.position - y.position);
    return { flag: { ...next.flag, version: next.flag.version + 1 }, rules: order };
  }
}

function touched({ fields = {}, rules = {} }: Change): Cell[] {
  const { environments = {}, ...own } = fields;
  return [
    ...Object.keys(own).map((field) => ({ field }) as Cell),
    ...Object.entries(environments as object).flatMap(([environment, settings]) =>
      Object.keys(settings as object).map((field) => ({ environment, field }) as Cell),
    ),
    ...(rules.update ?? []).flatMap(({ id, fields: ofRule }) =>
      RULE_FIELDS.filter((field) => field in ofRule).map((field) => ({ rule: id, field }) as Cell),
    ),
  ];
}

function impactOf(before: Stored, after: Stored, shift: number): FlagImpact {
  const moves = new Map<string, number>();
  for (const n of USERS) {
    const [from, to] = [serve(before, n + shift), serve(after, n + shift)];
    if (from !== to) moves.set(`${from}${to}`, (moves.get(`${from}${to}`) ?? 0) + 1);
  }
  const list = [...moves].map(([move, count]) => ({
    from: move.startsWith("t"),
    to: move.endsWith("true"),
    count,
  }));
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
  return { flagId: "f", flagKey: "sale", moves: list, ...rest };
}

function serve({ flag, rules }: Stored, n: number): boolean {
  const own = flag.environments?.["production"] ?? {};
  if (!(own.enabled ?? flag.enabled)) return false;
  const rule = rules.find(({ enabled, conditions }) => {
    const [condition] = conditions.conditions;
    const limit = condition !== undefined && "value" in condition ? Number(condition.value) : USERS.length;
    return enabled && n < limit;
  });
  return rule !== undefined
    ? rule.value === true
    : n * 2.5 < (own.rolloutPercentage ?? flag.rolloutPercentage ?? 100);
}

class Person {
  draft: Draft = EMPTY_DRAFT;
  seen = START;
  shown: FeatureFlagPlan | undefined;
  readonly server: Server;
  constructor(server: Server) {
    this.server = server;
  }

  change(next: Draft): void {
    this.draft = next;
    this.shown = undefined;
  }

  see(): void {
    this.seen = this.server.stored;
    this.shown = undefined;
  }

  count(): void {
    if (!isEmpty(this.draft))
      this.shown = this.#try(() => this.server.plan(planOf(this.draft, this.seen) as Change, false));
  }

  choose(isMine: boolean): void {
    const [conflict] = conflictsOf(this.draft, this.seen);
    if (conflict === undefined) return;
    this.change(isMine ? keepMine(this.draft, this.seen, conflict) : takeTheirs(this.draft, conflict));
  }

  /** `between` happens between plan and apply. */
  async save(between: () => unknown): Promise<void> {
    const { shown, draft, seen, server } = this;
    const isNothing = changesOf(draft, seen).length === 0;
    if (shown === undefined || isNothing || conflictsOf(draft, seen).length > 0) return;
    const change = planOf(draft, seen) as Change;
    try {
      const outcome = await savePlan(shown, {
        plan: async () => {
          const plan = server.plan(change, true);
          between();
          return plan;
        },
        apply: async (id) => {
          const { before, changeId } = server.apply(id);
          for (const cell of touched(change)) expect(readCell(before, cell)).toEqual(readCell(seen, cell));
          for (const { cell, base, value } of draft.edits.values())
            expect([base, value]).toContainEqual(readCell(before, cell));
          for (const { id: rule, version } of change.rules?.delete ?? [])
            expect(before.rules.find((one) => one.id === rule)?.version).toBe(version);
          expect(impactOf(before, server.stored, server.shift).moves).toEqual(shown.changes[0]?.moves);
          return { changeId };
        },
      });
      if (outcome.kind === "saved") this.draft = EMPTY_DRAFT;
      this.see();
      if (outcome.kind === "recounted") this.shown = outcome.plan;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.see();
    }
  }

  /** Between the plan of another person and its application. */
  saveAtOnce(): void {
    if (isEmpty(this.draft) || conflictsOf(this.draft, this.seen).length > 0) return;
    const saved = this.#try(() => {
      const { id = "" } = this.server.plan(planOf(this.draft, this.seen) as Change, true);
      return this.server.apply(id);
    });
    if (saved !== undefined) this.draft = EMPTY_DRAFT;
    this.see();
  }

  #try<Value>(run: () => Value): Value | undefined {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.see();
      return undefined;
    }
  }
}

const percentage = fc.integer({ min: 0, max: 100 });
const place = fc.nat({ max: 3 });
type Step = (me: Person, other: Person) => void | Promise<void>;
const ruleAt = ({ seen: { rules } }: Person, at: number): string =>
  rules[at % Math.max(1, rules.length)]?.id ?? "none";
const editing: fc.Arbitrary<Step> = fc.oneof(
  percentage.map(
    (value): Step =>
      (me) =>
        me.change(edit(me.draft, me.seen, { environment: "production", field: "rolloutPercentage" }, value)),
  ),
  fc.boolean().map(
    (value): Step =>
      (me) =>
        me.change(edit(me.draft, me.seen, { field: "enabled" }, value)),
  ),
  fc.string().map(
    (value): Step =>
      (me) =>
        me.change(edit(me.draft, me.seen, { field: "name" }, value)),
  ),
  fc.tuple(place, percentage).map(
    ([at, value]): Step =>
      (me) =>
        me.change(edit(me.draft, me.seen, { rule: ruleAt(me, at), field: "conditions" }, below(value / 2.5))),
  ),
  fc.tuple(place, fc.boolean()).map(
    ([at, value]): Step =>
      (me) =>
        me.change(edit(me.draft, me.seen, { rule: ruleAt(me, at), field: "enabled" }, value)),
  ),
  percentage.map(
    (value): Step =>
      (me) =>
        me.change(addRule(me.draft, me.seen, { conditions: below(value / 2.5), value: true })),
  ),
  place.map(
    (at): Step =>
      (me) =>
        me.change(deleteRule(me.draft, me.seen, ruleAt(me, at))),
  ),
  fc.tuple(place, place).map(
    ([at, to]): Step =>
      (me) =>
        me.change(moveRule(me.draft, me.seen, ruleAt(me, at), to)),
  ),
);
const saving = fc.tuple(fc.boolean(), fc.boolean()).map(
  ([isOverlapped, isCounted]): Step =>
    (me, other) => {
      if (isCounted) me.count();
      return me.save(() => isOverlapped && other.saveAtOnce());
    },
);
const shifting = fc.nat({ max: 9 }).map(
  (shift): Step =>
    (me) =>
      void Object.assign(me.server, { shift }),
);
const looking = fc.constantFrom<Step>(
  (me) => me.see(),
  (me) => me.count(),
  (me) => me.count(),
);
const choosing = fc.boolean().map(
  (isMine): Step =>
    (me) =>
      me.choose(isMine),
);
const step = fc.tuple(
  fc.boolean(),
  fc.oneof(
    { weight: 4, arbitrary: editing },
    { weight: 4, arbitrary: looking },
    { weight: 3, arbitrary: saving },
    { weight: 1, arbitrary: choosing },
    { weight: 1, arbitrary: shifting },
  ),
);

describe("two people who edit one flag", () => {
  it("never overwrite what they have not seen, and never save another count than the one shown", async () => {
    let saves = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const server = new Server();
        const people = [new Person(server), new Person(server)] as const;
        for (const [isFirst, run] of steps) {
          const [me, other] = isFirst ? people : [people[1], people[0]];
          const before = server.stored;
          await run(me, other);
          if (server.stored !== before) saves += 1;
        }
      }),
      { numRuns: 500 },
    );
    expect(saves).toBeGreaterThan(500);
  });
});
