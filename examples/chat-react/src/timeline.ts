/** What one room has heard, and what this window has yet to say in it. Pure: knows no client and no React. */
import type { Line } from "@halyard/example-chat-node/messages";

/** A line that nobody but us has seen yet. */
export interface Draft extends Line {
  /** Why it was not sent; undefined: it is on its way, or waits for a link. */
  readonly failure: string | undefined;
}

export interface Timeline {
  readonly lines: readonly Line[];
  readonly drafts: readonly Draft[];
}

/** Older lines are let go: a page that stays open must not grow for ever. */
const KEPT_LINES = 500;

export const EMPTY: Timeline = { lines: [], drafts: [] };

/** Ids are chosen by their senders, so a line is known by both. */
export function keyOf({ from, id }: Line): string {
  return `${from}/${id}`;
}

/** Somebody said something: others, or we ourselves, whose draft it then ends. A line heard before is not shown again. */
export function heard({ lines, drafts }: Timeline, line: Line): Timeline {
  return {
    lines: without(lines, [line]).length < lines.length ? lines : [...lines, line].slice(-KEPT_LINES),
    drafts: without(drafts, [line]),
  };
}

/** We are in the room, again perhaps: the server's last lines, in its order, with what we missed among them. */
export function entered({ lines, drafts }: Timeline, recent: readonly Line[]): Timeline {
  return {
    lines: [...without(lines, recent), ...recent].slice(-KEPT_LINES),
    drafts: without(drafts, recent),
  };
}

/** We said something. Again: a draft that failed goes to the end, and waits once more. */
export function drafted({ lines, drafts }: Timeline, line: Line): Timeline {
  return { lines, drafts: [...without(drafts, [line]), { ...line, failure: undefined }] };
}

/** It was not sent. If it was heard all the same there is no draft to mark. */
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
