/** A person who edits a flag with a draft, and the steps of two of them. Each save checks what the person had seen. */
import fc from "fast-check";
import { expect } from "vitest";
import type { FeatureFlagPlan, PlannedFlagChange, Rule } from "../../app/src/api/types.ts";
import { type Cell, RULE_FIELDS, readCell, type Stored } from "../../app/src/flag/draft/cells.ts";
import { changesOf, planOf } from "../../app/src/flag/draft/changes.ts";
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
} from "../../app/src/flag/draft/draft.ts";
import { savePlan } from "../../app/src/flag/draft/save.ts";

/** The server as a draft uses it. */
export interface Backend {
  /** Ids of all users. */
  readonly users: readonly string[];
  read(): Promise<Stored>;
  plan(change: PlannedFlagChange, isStored: boolean): Promise<FeatureFlagPlan>;
  apply(id: string): Promise<{ changeId: string }>;
  /** The value of each user in production. */
  values(): Promise<readonly unknown[]>;
  /** Another segment: only the first users are members from then on. */
  setMembers(count: number): Promise<void>;
  /** Whether the server has refused a change, so that nothing was saved. */
  isRefusal(error: unknown): boolean;
}

export const SEGMENT = "members";

export class Editor {
  draft: Draft = EMPTY_DRAFT;
  seen: Stored;
  shown: FeatureFlagPlan | undefined;
  saves = 0;
  readonly backend: Backend;

  constructor(backend: Backend, seen: Stored) {
    this.backend = backend;
    this.seen = seen;
  }

  change(next: Draft): void {
    this.draft = next;
    this.shown = undefined;
  }

  async see(): Promise<void> {
    this.seen = await this.backend.read();
    this.shown = undefined;
  }

  async count(): Promise<void> {
    if (this.#isNothing()) return;
    this.shown = await this.#try(() => this.backend.plan(planOf(this.draft, this.seen), false));
  }

  choose(isMine: boolean): void {
    const [conflict] = conflictsOf(this.draft, this.seen);
    if (conflict === undefined) return;
    this.change(isMine ? keepMine(this.draft, this.seen, conflict) : takeTheirs(this.draft, conflict));
  }

  /** `between` happens between plan and apply. */
  async save(between: () => Promise<unknown>): Promise<void> {
    const { shown, draft, seen, backend } = this;
    if (shown === undefined || this.#isNothing()) return;
    const change = planOf(draft, seen);
    const outcome = await this.#try(() =>
      savePlan(shown, {
        plan: async () => {
          const plan = await backend.plan(change, true);
          await between();
          return plan;
        },
        apply: async (id) => {
          const [before, was] = [await backend.read(), await backend.values()];
          const applied = await backend.apply(id);
          for (const cell of cellsOf(change)) expect(readCell(before, cell)).toEqual(readCell(seen, cell));
          for (const { cell, base, value } of draft.edits.values())
            expect([base, value]).toContainEqual(readCell(before, cell));
          for (const id of draft.deleted) {
            const [one, other] = [before, seen].map(({ rules }) => rules.find((rule) => rule.id === id));
            for (const field of RULE_FIELDS) expect(one?.[field]).toEqual(other?.[field]);
          }
          const now = await backend.values();
          const moved = now.filter((value, place) => value !== was[place]).length;
          expect(moved).toBe(shown.changes[0]?.moves.reduce((sum, { count }) => sum + count, 0));
          return applied;
        },
      }),
    );
    if (outcome === undefined) return;
    if (outcome.kind === "saved") {
      this.draft = EMPTY_DRAFT;
      this.saves += 1;
    }
    await this.see();
    if (outcome.kind === "recounted") this.shown = outcome.plan;
  }

  /** Between the plan of another person and its application. */
  async saveAtOnce(): Promise<void> {
    if (this.#isNothing()) return;
    const { backend, draft, seen } = this;
    const saved = await this.#try(async () => {
      const { id = "" } = await backend.plan(planOf(draft, seen), true);
      return backend.apply(id);
    });
    if (saved !== undefined) this.draft = EMPTY_DRAFT;
    await this.see();
  }

  /** The screen offers no save then. */
  #isNothing(): boolean {
    const { draft, seen } = this;
    return isEmpty(draft) || changesOf(draft, seen).length === 0 || conflictsOf(draft, seen).length > 0;
  }

  async #try<Value>(run: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await run();
    } catch (error) {
      if (!this.backend.isRefusal(error)) throw error;
      await this.see();
      return undefined;
    }
  }
}

/** What a plan writes, apart from rules that it creates or deletes. */
export function cellsOf({ fields = {}, rules = {} }: PlannedFlagChange): Cell[] {
  const { environments, ...own } = fields;
  return [
    ...Object.keys(own).map((field) => ({ field }) as Cell),
    ...Object.entries(environments ?? {}).flatMap(([environment, settings]) =>
      Object.keys(settings ?? {}).map((field) => ({ environment, field }) as Cell),
    ),
    ...(rules.update ?? []).flatMap(({ id, fields: ofRule }) =>
      RULE_FIELDS.filter((field) => field in ofRule).map((field) => ({ rule: id, field }) as Cell),
    ),
  ];
}

export type Step = (me: Editor, other: Editor) => unknown;

const percentage = fc.integer({ min: 0, max: 100 });
const place = fc.nat({ max: 3 });
const ruleAt = ({ seen: { rules } }: Editor, at: number): string =>
  rules[at % Math.max(1, rules.length)]?.id ?? "none";

/** The first users, or the members of the segment. */
export function conditionsOf(users: readonly string[], count: number): Rule["conditions"] {
  if (count % 4 === 0) return { conditions: [{ segment: SEGMENT }] };
  return { conditions: [{ attribute: "userId", operator: "in", value: users.slice(0, count) }] };
}

/** Makes the next draft of the one of the person. */
const edits =
  (run: (me: Editor) => Draft): Step =>
  (me) =>
    me.change(run(me));
const size = fc.integer({ min: 1, max: 12 });

const editing: fc.Arbitrary<Step> = fc.oneof(
  percentage.map((value) =>
    edits(({ draft, seen }) =>
      edit(draft, seen, { environment: "production", field: "rolloutPercentage" }, value),
    ),
  ),
  fc.boolean().map((value) => edits(({ draft, seen }) => edit(draft, seen, { field: "enabled" }, value))),
  fc
    .stringMatching(/^[a-z]{1,8}$/)
    .map((value) => edits(({ draft, seen }) => edit(draft, seen, { field: "name" }, value))),
  fc.tuple(place, size).map(([at, count]) =>
    edits((me) => {
      const id = ruleAt(me, at);
      const isThere = me.seen.rules.some((rule) => rule.id === id);
      const conditions = conditionsOf(me.backend.users, count);
      return isThere ? edit(me.draft, me.seen, { rule: id, field: "conditions" }, conditions) : me.draft;
    }),
  ),
  fc
    .tuple(place, fc.boolean())
    .map(([at, value]) =>
      edits((me) =>
        me.seen.rules.length === 0
          ? me.draft
          : edit(me.draft, me.seen, { rule: ruleAt(me, at), field: "enabled" }, value),
      ),
    ),
  size.map((count) =>
    edits(({ draft, seen, backend }) =>
      addRule(draft, seen, { conditions: conditionsOf(backend.users, count), value: count % 2 === 0 }),
    ),
  ),
  place.map((at) =>
    edits((me) => (me.seen.rules.length === 0 ? me.draft : deleteRule(me.draft, me.seen, ruleAt(me, at)))),
  ),
  fc
    .tuple(place, place)
    .map(([at, to]) =>
      edits((me) =>
        me.seen.rules.length === 0 ? me.draft : moveRule(me.draft, me.seen, ruleAt(me, at), to),
      ),
    ),
);
const saving = fc.tuple(fc.boolean(), fc.boolean()).map(
  ([isOverlapped, isCounted]): Step =>
    async (me, other) => {
      if (isCounted) await me.count();
      await me.save(async () => isOverlapped && other.saveAtOnce());
    },
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
const shifting = size.map(
  (count): Step =>
    (me) =>
      me.backend.setMembers(count),
);

/** Which of the two does what. */
export const step: fc.Arbitrary<readonly [isFirst: boolean, run: Step]> = fc.tuple(
  fc.boolean(),
  fc.oneof(
    { weight: 4, arbitrary: editing },
    { weight: 4, arbitrary: looking },
    { weight: 3, arbitrary: saving },
    { weight: 1, arbitrary: choosing },
    { weight: 1, arbitrary: shifting },
  ),
);

/** Runs the steps of two people, and returns how often they saved. */
export async function runSteps(
  backend: Backend,
  steps: readonly (readonly [isFirst: boolean, run: Step])[],
): Promise<number> {
  const start = await backend.read();
  const [first, second] = [new Editor(backend, start), new Editor(backend, start)];
  for (const [isFirst, run] of steps) await (isFirst ? run(first, second) : run(second, first));
  return first.saves + second.saves;
}
