/** A person who edits a flag with a draft, and the steps of two of them. Each save checks what the person had seen. */
import fc from "fast-check";
import { expect } from "vitest";
import type { FeatureFlagPlan, PlannedFlagChange, Rule } from "../../app/src/api/types.ts";
import { type Cell, RULE_FIELDS, readCell, type Stored } from "../../app/src/flag/draft/cells.ts";
import { Draft } from "../../app/src/flag/draft/draft.ts";
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
  draft: Draft;
  shown: FeatureFlagPlan | undefined;
  saves = 0;
  readonly backend: Backend;
  /** What the person saw in each cell when the draft began to change it, by the cell as text. */
  readonly #seen = new Map<string, unknown>();

  constructor(backend: Backend, stored: Stored) {
    this.backend = backend;
    this.draft = new Draft(stored);
  }

  change(next: Draft): void {
    const { stored } = this.draft;
    this.draft = next;
    this.shown = undefined;
    const cells = new Map(cellsOf(next.plan).map((cell) => [JSON.stringify(cell), cell]));
    for (const text of this.#seen.keys()) if (!cells.has(text)) this.#seen.delete(text);
    for (const [text, cell] of cells) if (!this.#seen.has(text)) this.#seen.set(text, readCell(stored, cell));
  }

  async see(): Promise<void> {
    this.change(this.draft.onto(await this.backend.read()));
  }

  async count(): Promise<void> {
    if (this.#isNothing()) return;
    this.shown = await this.#try(() => this.backend.plan(this.draft.plan, false));
  }

  choose(isMine: boolean): void {
    const [conflict] = this.draft.conflicts;
    if (conflict === undefined) return;
    if (conflict.kind === "field") this.#seen.delete(JSON.stringify(conflict.cell));
    this.change(this.draft.choose(conflict, isMine));
  }

  /** `between` happens between plan and apply. */
  async save(between: () => Promise<unknown>): Promise<void> {
    const { shown, draft, backend } = this;
    if (shown === undefined || this.#isNothing()) return;
    const change = draft.plan;
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
          for (const cell of cellsOf(change)) {
            const now = readCell(before, cell);
            expect(now).toEqual(readCell(draft.stored, cell));
            expect(now).toEqual(this.#seen.get(JSON.stringify(cell)));
          }
          for (const one of change.rules?.delete ?? []) {
            const of = ({ rules }: Stored) => rules.find((rule) => rule.id === Object(one).id);
            for (const field of RULE_FIELDS) expect(of(before)?.[field]).toEqual(of(draft.stored)?.[field]);
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
      this.change(new Draft(draft.stored));
      this.saves += 1;
    }
    await this.see();
    if (outcome.kind === "recounted") this.shown = outcome.plan;
  }

  /** Between the plan of another person and its application. */
  async saveAtOnce(): Promise<void> {
    if (this.#isNothing()) return;
    const { backend, draft } = this;
    const saved = await this.#try(async () => {
      const { id = "" } = await backend.plan(draft.plan, true);
      return backend.apply(id);
    });
    if (saved !== undefined) this.change(new Draft(draft.stored));
    await this.see();
  }

  /** The screen offers no save then. */
  #isNothing(): boolean {
    const { changes, conflicts } = this.draft;
    return changes.length === 0 || conflicts.length > 0;
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
const ruleAt = ({ stored: { rules } }: Draft, at: number): string =>
  rules[at % Math.max(1, rules.length)]?.id ?? "none";
const hasRule = ({ stored }: Draft, id: string): boolean => stored.rules.some((rule) => rule.id === id);

/** The first users, or the members of the segment. */
export function conditionsOf(users: readonly string[], count: number): Rule["conditions"] {
  if (count % 4 === 0) return { conditions: [{ segment: SEGMENT }] };
  return { conditions: [{ attribute: "userId", operator: "in", value: users.slice(0, count) }] };
}

/** Makes the next draft of the one of the person. */
const edits =
  (run: (draft: Draft, backend: Backend) => Draft): Step =>
  (me) =>
    me.change(run(me.draft, me.backend));
/** The same with a stored rule, if there is one. */
const editsRule = (at: number, run: (draft: Draft, id: string, backend: Backend) => Draft): Step =>
  edits((draft, backend) => {
    const id = ruleAt(draft, at);
    return hasRule(draft, id) ? run(draft, id, backend) : draft;
  });
const size = fc.integer({ min: 1, max: 12 });

const editing: fc.Arbitrary<Step> = fc.oneof(
  percentage.map((value) =>
    edits((draft) => draft.set({ environment: "production", field: "rolloutPercentage" }, value)),
  ),
  fc.boolean().map((value) => edits((draft) => draft.set({ field: "enabled" }, value))),
  fc.stringMatching(/^[a-z]{1,8}$/).map((value) => edits((draft) => draft.set({ field: "name" }, value))),
  fc
    .tuple(place, size)
    .map(([at, count]) =>
      editsRule(at, (draft, rule, { users }) =>
        draft.set({ rule, field: "conditions" }, conditionsOf(users, count)),
      ),
    ),
  fc
    .tuple(place, fc.boolean())
    .map(([at, value]) => editsRule(at, (draft, rule) => draft.set({ rule, field: "enabled" }, value))),
  size.map((count) =>
    edits((draft, { users }) =>
      draft.addRule({ conditions: conditionsOf(users, count), value: count % 2 === 0 }),
    ),
  ),
  place.map((at) => editsRule(at, (draft, rule) => draft.deleteRule(rule))),
  fc.tuple(place, place).map(([at, to]) => editsRule(at, (draft, rule) => draft.moveRule(rule, to))),
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
