/** Logs refused upgrades, at most one line per minute and reason: an attacker must not be able to fill the log. */

/** The reasons with a line of their own. */
export type RefusalReason =
  | "path"
  | "origin"
  | "cookies"
  | "host"
  | "login"
  | "thrown"
  | "timeout"
  | "unavailable";

const INTERVAL_MS = 60_000;
/** Errors that are followed to the first cause. */
const MAX_CAUSES = 5;
/** Explains every refusal. */
const HELP = "https://github.com/halyard/halyard/blob/main/docs/guide/wire-troubleshooting.md";
const MAX_VALUE_LENGTH = 100;

export class RefusalLog {
  readonly #entries = new Map<RefusalReason, { since: number; unlogged: number }>();
  readonly #now: () => number;

  /** `now` is monotonic, in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** `text` says what was refused and what to change; it must not contain a token. */
  refused(reason: RefusalReason, text: string): void {
    const now = this.#now();
    const entry = this.#entries.get(reason);
    if (entry !== undefined && now - entry.since < INTERVAL_MS) {
      entry.unlogged++;
      return;
    }
    const earlier = entry?.unlogged ? ` ${entry.unlogged} more were refused since the last line.` : "";
    this.#entries.set(reason, { since: now, unlogged: 0 });
    console.warn(
      `[halyard] ${text}${earlier} Refusals for this reason are logged at most once per minute. See ${HELP}`,
    );
  }
}

/** A value of the peer as it is safe to log: quoted, without control characters, and short. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value);
}

/** Names an error and its first cause without their messages, which may contain a token: class, code and place. */
export function describeError(error: unknown): string {
  const cause = firstCause(error);
  return cause === error ? nameOf(error) : `${nameOf(error)}, caused by ${nameOf(cause)}`;
}

function firstCause(error: unknown): unknown {
  let cause = error;
  // A bound, because a cause may name itself.
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error && cause.cause instanceof Error; depth++)
    cause = cause.cause;
  return cause;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return `a value of type ${typeof error}`;
  // The stack begins with the message, which may contain lines that look like frames.
  const frames = (error.stack ?? "").replace(error.message, () => "");
  const place = /^\s+at (.+:\d+:\d+\)?)$/m.exec(frames)?.[1];
  const name = [error.name, codeOf(error)].filter(Boolean).join(" ");
  return place === undefined ? name : `${name} at ${place}`;
}

/** A code such as `ECONNREFUSED` or `42P01`, not a text that could contain a token. */
function codeOf(error: Error): string | undefined {
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,30}$/.test(code) ? code : undefined;
}
