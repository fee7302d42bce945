/** Changes of callers' rows, and those that were made a moment ago. */
import { sessionPrint } from "./session-print.ts";

/**
 * `session` has the token of a session or the id of an API key, `session-print` the print of a token, and `session-id` the
 * id of a session's row. `unknown`: the write names its rows in a way that does not tell whose they are.
 */
export type IdentityChange =
  | {
      readonly kind: "session" | "session-print" | "session-id" | "user" | "member" | "organization";
      readonly id: string;
    }
  | { readonly kind: "unknown" };

/** A change of rows that concerns no caller's identity, but attributes that are read from them. */
export type AttributeChange =
  | { readonly kind: "organization-row"; readonly id: string }
  /** Rows of sessions that the write does not name. */
  | { readonly kind: "session-rows" };

/** A change of rows of users, sessions, members or organizations. */
export type RowChange = IdentityChange | AttributeChange;

export function isIdentityChange(change: RowChange): change is IdentityChange {
  return change.kind !== "organization-row" && change.kind !== "session-rows";
}

/** Longer than the deadline of the session store. A verification that took longer is not remembered. */
const KEPT_MS = 15_000;
/** With more, each verification that began before the oldest counts as outdated. */
const MAX_KEPT = 10_000;

/**
 * A verification that read its rows before a change may end after it. Such a verification must not be remembered, or
 * the caller would keep what the change took away.
 */
export class RecentChanges {
  /** The oldest first. Times by the monotonic clock. */
  readonly #changedAtMs = new Map<string, number>();
  #unknownAtMs = Number.NEGATIVE_INFINITY;

  add(change: IdentityChange, nowMs: number): void {
    if (change.kind === "unknown") {
      this.#unknownAtMs = nowMs;
      return;
    }
    const name = nameOf(change);
    this.#changedAtMs.delete(name);
    this.#changedAtMs.set(name, nowMs);
    for (const [oldest, changedAtMs] of this.#changedAtMs) {
      const isRecent = nowMs - changedAtMs <= KEPT_MS;
      if (isRecent && this.#changedAtMs.size <= MAX_KEPT) break;
      this.#changedAtMs.delete(oldest);
      if (isRecent) this.#unknownAtMs = Math.max(this.#unknownAtMs, changedAtMs);
    }
  }

  /** Whether one of these may have changed since `startedAtMs`. */
  includes(subjects: readonly IdentityChange[], startedAtMs: number, nowMs: number): boolean {
    if (nowMs - startedAtMs > KEPT_MS || this.#unknownAtMs >= startedAtMs) return true;
    return subjects.some((subject) => {
      const changedAtMs = this.#changedAtMs.get(nameOf(subject));
      return changedAtMs !== undefined && changedAtMs >= startedAtMs;
    });
  }
}

/** The same for a token and for its print. */
function nameOf(change: IdentityChange): string {
  if (change.kind === "unknown") return change.kind;
  if (change.kind === "session") return `session-print ${sessionPrint(change.id)}`;
  return `${change.kind} ${change.id}`;
}
