/** Counts what a change does to users, for one flag in one environment: from which value to which, and for how many. */
import type { CompiledFlag } from "../../engine/compile.ts";
import type { Evaluation, EvaluationContext } from "../../engine/definition.ts";
import type { JsonValue } from "../../engine/json.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import type { FlagImpact, MovedUser, RuleImpact, ValueMove } from "../../model/plan.ts";
import type { DraftPreview, FollowedSnapshot } from "../../store/flag-store.ts";
import { byOrder } from "../../store/rows/rules.ts";
import type { HostUser } from "./host-users.ts";
import type { KnownContexts } from "./known-context.ts";

const MAX_MOVES = 100;
const MAX_EXAMPLES = 20;

export interface Counted {
  readonly flagId: string;
  readonly environment: string | undefined;
  /** Whether examples have the names and emails of users. */
  readonly namesUsers: boolean;
  /** No user gets the flag. */
  readonly isIgnored: boolean;
}

type Counts = { -readonly [Name in keyof RuleImpact]: RuleImpact[Name] };

export class ImpactCounter {
  readonly counted: Counted;
  readonly before: CompiledFlag | undefined;
  readonly after: CompiledFlag | undefined;
  /** The users whose value changes. */
  readonly movedIds: string[] = [];
  readonly #preview: DraftPreview;
  readonly #moves = new Map<string, { from: JsonValue; to: JsonValue; count: number }>();
  readonly #examples: MovedUser[] = [];
  readonly #texts = new WeakMap<object, string>();
  readonly #nowMs = Date.now();
  readonly #rules: Map<string, Counts>;
  readonly #everyoneElse: Counts;
  readonly #values = new Map<string, { value: JsonValue; before: number; after: number }>();
  #unchanged = 0;
  #unknown = 0;

  constructor(preview: DraftPreview, counted: Counted) {
    const { flagId } = counted;
    const rules = [...(preview.after.contents.rules.get(flagId)?.values() ?? [])].sort(byOrder);
    const none = { before: 0, after: 0, moved: 0 };
    this.#preview = preview;
    this.counted = counted;
    this.before = preview.before.compiled.get(flagId);
    this.after = preview.after.compiled.get(flagId);
    this.#rules = new Map(rules.map(({ id }, index) => [id, { ruleId: id, index, ...none }]));
    this.#everyoneElse = { index: rules.length, ...none };
  }

  count(user: HostUser, context: EvaluationContext, contexts: KnownContexts): void {
    contexts.begin();
    const from = this.#evaluate(this.before, this.#preview.before, context, user.id);
    const to = this.#evaluate(this.after, this.#preview.after, context, user.id);
    if (contexts.isGuess) {
      this.#unknown += 1;
      return;
    }
    const isMoved = from === undefined || to === undefined || !isSame(from.value, to.value);
    const decidedBy = this.#decidedBy(this.before, from);
    if (decidedBy !== undefined) decidedBy.before += 1;
    const decides = this.#decidedBy(this.after, to);
    if (decides !== undefined) {
      decides.after += 1;
      if (isMoved) decides.moved += 1;
    }
    if (from !== undefined) this.#valueOf(from.value).before += 1;
    if (to !== undefined) this.#valueOf(to.value).after += 1;
    if (isMoved) this.#move(user, from?.value ?? null, to?.value ?? null);
    else this.#unchanged += 1;
  }

  #evaluate(
    flag: CompiledFlag | undefined,
    snapshot: FollowedSnapshot,
    context: EvaluationContext,
    userId: string,
  ): Evaluation | undefined {
    return flag?.evaluate(context, snapshot.override(this.counted.flagId, userId, this.#nowMs));
  }

  /** Undefined if an override or the switch decides, or a rule that does not exist after the change. */
  #decidedBy(flag: CompiledFlag | undefined, result: Evaluation | undefined): Counts | undefined {
    if (flag === undefined || result === undefined) return undefined;
    if (result.reason === "default" || result.reason === "percentage_rollout") return this.#everyoneElse;
    const ruleId = flag.ruleOf(result);
    return ruleId === undefined ? undefined : this.#rules.get(ruleId);
  }

  #valueOf(value: JsonValue): { before: number; after: number } {
    const key = this.#textOf(value);
    const counts = this.#values.get(key) ?? { value, before: 0, after: 0 };
    this.#values.set(key, counts);
    return counts;
  }

  #move({ id, name, email }: HostUser, from: JsonValue, to: JsonValue): void {
    this.movedIds.push(id);
    const key = `${this.#textOf(from)}\n${this.#textOf(to)}`;
    const move = this.#moves.get(key);
    if (move === undefined) this.#moves.set(key, { from, to, count: 1 });
    else move.count += 1;
    if (this.#examples.length === MAX_EXAMPLES) return;
    this.#examples.push({ userId: id, ...(this.counted.namesUsers && { name, email }), from, to });
  }

  /** The same for equal values. Users get the same few objects, so each is read once. */
  #textOf(value: JsonValue): string {
    if (typeof value !== "object" || value === null) return `${typeof value} ${value}`;
    const text = this.#texts.get(value) ?? canonicalJson(value);
    this.#texts.set(value, text);
    return text;
  }

  impact(online: number): FlagImpact {
    const { before, after } = this.#preview;
    const { flagId, environment, isIgnored } = this.counted;
    const flag = before.contents.flags.get(flagId) ?? after.contents.flags.get(flagId);
    const moves: ValueMove[] = [...this.#moves.values()].sort((a, b) => b.count - a.count);
    const values = [...this.#values.values()].sort((a, b) => b.after - a.after || b.before - a.before);
    return {
      flagId,
      flagKey: flag?.key ?? "",
      ...(environment !== undefined && { environment }),
      version: flag?.version ?? 0,
      moves: moves.slice(0, MAX_MOVES),
      moved: this.movedIds.length,
      unchanged: this.#unchanged,
      unknown: this.#unknown,
      online,
      examples: this.#examples,
      values: values.slice(0, MAX_MOVES),
      rules: [...this.#rules.values(), this.#everyoneElse],
      ...(this.after === undefined && { removed: true }),
      ...(this.before === undefined && { created: true }),
      ...(isIgnored && { ignored: true }),
    };
  }
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  return typeof a === "object" && typeof b === "object" && canonicalJson(a) === canonicalJson(b);
}
