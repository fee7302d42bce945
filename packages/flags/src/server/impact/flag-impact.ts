/** Counts what one change of a flag does to users: from which value to which, and for how many. */
import type { EvaluationContext } from "../../engine/definition.ts";
import type { JsonValue } from "../../engine/json.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import type { FlagImpact, MovedUser, ValueMove } from "../../model/plan.ts";
import type { FlagPreview, Snapshot } from "../../store/flag-store.ts";
import type { HostUser } from "./host-users.ts";
import type { KnownContexts } from "./known-context.ts";

const MAX_MOVES = 100;
const MAX_EXAMPLES = 20;

export class ImpactCounter {
  readonly preview: FlagPreview;
  /** The users whose value changes. */
  readonly movedIds: string[] = [];
  readonly #snapshot: Pick<Snapshot, "override">;
  readonly #moves = new Map<string, { from: JsonValue; to: JsonValue; count: number }>();
  readonly #examples: MovedUser[] = [];
  readonly #texts = new WeakMap<object, string>();
  readonly #nowMs = Date.now();
  readonly #namesUsers: boolean;
  #unchanged = 0;
  #unknown = 0;

  /** `namesUsers`: whether examples have the names and emails of users. */
  constructor(preview: FlagPreview, snapshot: Pick<Snapshot, "override">, namesUsers: boolean) {
    this.preview = preview;
    this.#snapshot = snapshot;
    this.#namesUsers = namesUsers;
  }

  count(user: HostUser, context: EvaluationContext, contexts: KnownContexts): void {
    const { flag, before, after } = this.preview;
    const override = this.#snapshot.override(flag.id, user.id, this.#nowMs);
    contexts.begin();
    const { value: from } = before.evaluate(context, override);
    const { value: to } = after.evaluate(context, override);
    if (contexts.isGuess) this.#unknown += 1;
    else if (isSame(from, to)) this.#unchanged += 1;
    else this.#move(user, from, to);
  }

  #move({ id, name, email }: HostUser, from: JsonValue, to: JsonValue): void {
    this.movedIds.push(id);
    const key = `${this.#textOf(from)}\n${this.#textOf(to)}`;
    const move = this.#moves.get(key);
    if (move === undefined) this.#moves.set(key, { from, to, count: 1 });
    else move.count += 1;
    if (this.#examples.length === MAX_EXAMPLES) return;
    this.#examples.push({ userId: id, ...(this.#namesUsers && { name, email }), from, to });
  }

  /** The same for equal values. Users get the same few objects, so each is read once. */
  #textOf(value: JsonValue): string {
    if (typeof value !== "object" || value === null) return `${typeof value} ${value}`;
    const text = this.#texts.get(value) ?? canonicalJson(value);
    this.#texts.set(value, text);
    return text;
  }

  impact(online: number): FlagImpact {
    const { id: flagId, key: flagKey, version } = this.preview.flag;
    const moves: ValueMove[] = [...this.#moves.values()].sort((a, b) => b.count - a.count);
    return {
      flagId,
      flagKey,
      version,
      moves: moves.slice(0, MAX_MOVES),
      moved: this.movedIds.length,
      unchanged: this.#unchanged,
      unknown: this.#unknown,
      online,
      examples: this.#examples,
    };
  }
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  return typeof a === "object" && typeof b === "object" && canonicalJson(a) === canonicalJson(b);
}
