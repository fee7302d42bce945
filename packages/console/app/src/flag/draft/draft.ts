/**
 * What a person changes of a flag before it is saved: the flag as the person saw it, and as it would be. The draft lies on
 * top of what is stored now, so changes of other people to other fields appear by themselves; a change to the same field
 * is a conflict until the person chooses.
 */
import type { JsonValue, PlannedFlagChange, Rule, RuleConditions } from "../../api/types.ts";
import { countsIn, settingOf } from "../environments.ts";
import {
  type Cell,
  contentOf,
  type Difference,
  differences,
  ENVIRONMENT_FIELDS,
  idsOf,
  inOrder,
  isNew,
  isSame,
  NEW,
  type RuleContent,
  readCell,
  ruleIn,
  type Stored,
  withoutRule,
  withRule,
  writeCell,
} from "./cells.ts";
import { type Conflict, merged, weave } from "./merge.ts";
import { type Problem, problemsIn } from "./problems.ts";

type Value = JsonValue | undefined;

/** One change as people count them: a field, or a rule with all of its fields. */
export type Change =
  | { readonly kind: "field"; readonly cell: Cell }
  | { readonly kind: "added" | "deleted" | "edited"; readonly rule: string }
  | { readonly kind: "order" };

/** A new rule has one condition to fill in. */
export const FIRST_CONDITION: RuleConditions = {
  conditions: [{ attribute: "", operator: "equals", value: "" }],
};

export class Draft {
  readonly stored: Stored;
  readonly conflicts: readonly Conflict[];
  /** As it would be, with deleted rules at their places: `isDeleted` names them. */
  readonly next: Stored;
  /** Without deleted rules. */
  readonly kept: Stored;
  /** As it is stored, except for what is in conflict: that is as the person saw it. */
  readonly #base: Stored;
  /** As it would be, with rules that another person deleted. */
  readonly #mine: Stored;

  constructor(stored: Stored, base: Stored = stored, mine: Stored = stored) {
    const { base: seen, mine: yours, conflicts } = merged(stored, base, mine);
    this.stored = stored;
    this.conflicts = conflicts;
    this.#base = seen;
    this.#mine = yours;
    const gone = new Set(conflicts.flatMap((one) => (one.kind === "gone" ? one.rule.id : [])));
    const kept = this.#mine.rules.filter(({ id }) => !gone.has(id));
    const shown = [...kept, ...stored.rules.filter(({ id }) => this.isDeleted(id))];
    const { flag } = this.#mine;
    this.kept = { flag, rules: kept };
    this.next = inOrder({ flag, rules: shown }, weave(idsOf(this.kept), idsOf(stored)));
  }

  /** The same draft on top of what is stored now. */
  onto(stored: Stored): Draft {
    return new Draft(stored, this.#base, this.#mine);
  }

  get isEmpty(): boolean {
    return this.changes.length === 0 && this.conflicts.length === 0;
  }

  isNew = isNew;

  isDeleted(id: string): boolean {
    return ruleIn(this.stored, id) !== undefined && ruleIn(this.#mine, id) === undefined;
  }

  isEdited(...cells: readonly Cell[]): boolean {
    return cells.some((cell) => !isSame(readCell(this.stored, cell), readCell(this.#mine, cell)));
  }

  set(cell: Cell, value: Value): Draft {
    return this.#with(writeCell(this.#mine, cell, value));
  }

  /** At the end. */
  addRule(content: RuleContent): Draft {
    const numbers = this.#mine.rules.map(({ id }) => (isNew(id) ? Number(id.slice(NEW.length)) : 0));
    const id = `${NEW}${Math.max(0, ...numbers) + 1}`;
    const flagId = this.stored.flag.id;
    const row = { id, flagId, priority: 0, position: 0, version: 0, salt: id, createdAt: "" };
    const rule: Rule = { conditions: FIRST_CONDITION, enabled: true, ...content, ...row };
    return this.#with(withRule(this.#mine, rule));
  }

  /** A new rule is gone; a stored one is shown as deleted until that is saved. */
  deleteRule(id: string): Draft {
    return this.#with(withoutRule(this.#mine, id));
  }

  restoreRule(id: string): Draft {
    const rule = ruleIn(this.stored, id);
    return rule === undefined ? this : this.#with(inOrder(withRule(this.#mine, rule), idsOf(this.next)));
  }

  moveRule(id: string, place: number): Draft {
    const order = idsOf(this.next).filter((one) => one !== id);
    return this.#with(inOrder(this.#mine, order.toSpliced(place, 0, id)));
  }

  /** Ends the conflict. With `isMine` the draft stays as it is: the person has seen the other change. */
  choose(conflict: Conflict, isMine: boolean): Draft {
    const mine = this.#mine;
    switch (conflict.kind) {
      case "field": {
        const { cell, theirs } = conflict;
        return this.#with(isMine ? mine : writeCell(mine, cell, theirs), writeCell(this.#base, cell, theirs));
      }
      case "gone": {
        const rule = ruleIn(mine, conflict.rule.id) ?? conflict.rule;
        const rest = this.#with(withoutRule(mine, rule.id), withoutRule(this.#base, rule.id));
        return isMine ? rest.addRule(contentOf(rule)) : rest;
      }
      case "changed": {
        const seen = this.#with(mine, withRule(this.#base, conflict.rule));
        return isMine ? seen : seen.restoreRule(conflict.rule.id);
      }
      case "order": {
        const { theirs } = conflict;
        const order = isMine ? idsOf(mine) : weave(theirs, idsOf(mine));
        return this.#with(inOrder(mine, order), inOrder(this.#base, theirs));
      }
    }
  }

  #with(mine: Stored, base: Stored = this.#base): Draft {
    return new Draft(this.stored, base, mine);
  }

  get changes(): readonly Change[] {
    const cells = differences(this.stored, this.kept).map(({ cell }) => cell);
    const edited = new Set(cells.flatMap(({ rule }) => rule ?? []));
    return [
      ...cells.flatMap((cell): Change[] => (cell.rule === undefined ? [{ kind: "field", cell }] : [])),
      ...this.stored.rules.flatMap(({ id }): Change[] => {
        if (this.isDeleted(id)) return [{ kind: "deleted", rule: id }];
        return edited.has(id) ? [{ kind: "edited", rule: id }] : [];
      }),
      ...this.kept.rules.filter(({ id }) => isNew(id)).map(({ id }): Change => ({ kind: "added", rule: id })),
      ...(this.#isReordered ? [{ kind: "order" } as const] : []),
    ];
  }

  /** What is missing. Rules that the draft does not touch are left alone. */
  get problems(): readonly Problem[] {
    const touched = this.changes.flatMap((change) => ("rule" in change ? change.rule : []));
    return problemsIn(this.kept, new Set(touched));
  }

  /** The environments in which it can move people. */
  touches(known: readonly string[]): readonly string[] {
    return known.filter((name) => !isSame(decidingIn(this.stored, name), decidingIn(this.kept, name)));
  }

  /**
   * The input of a plan, with the versions that the person saw. Environments are a merge patch, so changes that other
   * people made to other environments stay.
   */
  get plan(): PlannedFlagChange {
    const { flag, rules } = this.stored;
    // On a JSON flag, null is a value, so a rule's own value cannot be taken away.
    const isSent = ({ cell, after }: Difference): boolean =>
      cell.rule === undefined || cell.field !== "value" || after !== undefined || flag.type !== "json";
    const found = differences(this.stored, this.kept).filter(isSent);
    const patchOf = (rule?: string, environment?: string): Record<string, unknown> => {
      const own = found.filter(({ cell }) => cell.rule === rule && cell.environment === environment);
      return Object.fromEntries(own.map(({ cell, after }) => [cell.field, after ?? null]));
    };
    const names = new Set(found.flatMap(({ cell }) => cell.environment ?? []));
    const environments = Object.fromEntries([...names].map((name) => [name, patchOf(undefined, name)]));
    const fields = { ...patchOf(), ...(names.size > 0 && { environments }) };
    const placeOf = (id: string): number => this.kept.rules.findIndex((rule) => rule.id === id) + 1;
    const isReordered = this.#isReordered;
    const last = Math.max(0, ...rules.map(({ priority }) => priority));
    const added = this.kept.rules.filter(({ id }) => isNew(id));
    const create = added.map((rule, at) => {
      const { conditions } = rule;
      return { ...contentOf(rule), conditions, priority: isReordered ? placeOf(rule.id) : last + at + 1 };
    });
    const update = rules.flatMap(({ id, version, priority }) => {
      const isMoved = isReordered && !this.isDeleted(id) && placeOf(id) !== priority;
      const patch = { ...patchOf(id), ...(isMoved && { priority: placeOf(id) }) };
      return Object.keys(patch).length === 0 ? [] : [{ id, version, fields: patch }];
    });
    const dropped = rules.filter(({ id }) => this.isDeleted(id)).map(({ id, version }) => ({ id, version }));
    const lists = Object.entries({ create, update, delete: dropped }).filter(([, list]) => list.length > 0);
    return {
      flagId: flag.id,
      version: flag.version,
      ...(Object.keys(fields).length > 0 && { fields }),
      ...(lists.length > 0 && { rules: Object.fromEntries(lists) }),
    };
  }

  /** A new rule at the end changes no place. */
  get #isReordered(): boolean {
    const kept = idsOf(this.kept);
    const stored = idsOf(this.stored).filter((id) => kept.includes(id));
    return !isSame(kept, [...stored, ...kept.filter(isNew)]);
  }
}

/** What decides in an environment. */
function decidingIn({ flag, rules }: Stored, environment: string): unknown {
  const settings = ENVIRONMENT_FIELDS.map((field) => [field, settingOf(flag, environment, field).value]);
  const counting = rules.filter((rule) => countsIn(rule, environment));
  const contents = counting.map((rule) => {
    const { name: _name, environments: _environments, ...content } = contentOf(rule);
    return [rule.id, content];
  });
  return [Object.fromEntries(settings), flag.variants, flag.bucketBy, contents];
}
