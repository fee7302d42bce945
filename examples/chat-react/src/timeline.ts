/** The lines of one room, and the drafts of this window. Pure: independent of the client and React. */
import type { Line } from "@halyard/example-chat-node/messages";

/** A line that is not delivered yet. */
export interface Draft extends Line {
  /** Why it was not sent. Undefined while it is being sent or waits for a connection. */
  readonly failure: string | undefined;
}

export interface Timeline {
  readonly lines: readonly Line[];
  readonly drafts: readonly Draft[];
}

/** Older lines are removed, so that an open page does not grow for ever. */
const KEPT_LINES = 500;

export const EMPTY: Timeline = { lines: [], drafts: [] };

/** Senders choose their ids, so both identify a line. */
export function keyOf({ from, id }: Line): string {
  return `${from}/${id}`;
}

/** Adds a delivered line. A line of this user replaces its draft. A line that is already shown is ignored. */
export function delivered({ lines, drafts }: Timeline, line: Line): Timeline {
  return {
    lines: without(lines, [line]).length < lines.length ? lines : [...lines, line].slice(-KEPT_LINES),
    drafts: without(drafts, [line]),
  };
}

/** Adds a draft. A failed draft that is sent again moves to the end. */
export function drafted({ lines, drafts }: Timeline, line: Line): Timeline {
  return { lines, drafts: [...without(drafts, [line]), { ...line, failure: undefined }] };
}

/** Marks a draft as failed. If it was delivered anyway, there is no draft to mark. */
export function failed({ lines, drafts }: Timeline, line: Line, failure: string): Timeline {
  const key = keyOf(line);
  return { lines, drafts: drafts.map((draft) => (keyOf(draft) === key ? { ...draft, failure } : draft)) };
}

export function discarded({ lines, drafts }: Timeline, line: Line): Timeline {
  return { lines, drafts: without(drafts, [line]) };
}

function without<L extends Line>(lines: readonly L[], gone: readonly Line[]): L[] {
  const keys = new Set(gone.map(keyOf));
  return lines.filter((line) => !keys.has(keyOf(line)));
}
