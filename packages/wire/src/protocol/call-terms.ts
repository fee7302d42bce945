/** The reserved meta keys of a request: how its progress is paced, its deadline, and the durable call it belongs to. */
import { isObject } from "./checks.ts";

/** How many progress items a client accepts before its first `$ws:credit`. */
export const INITIAL_CREDIT = 64;
/** The most progress items that a peer may be allowed to send at once. */
export const MAX_CREDIT = 1_024;
/** The longest id of a durable call, in characters. */
const MAX_CALL_ID_LENGTH = 128;

/** The durable call that a request starts or reads. */
export interface CallKey {
  /** Chosen by the client that starts the call. */
  readonly id: string;
  /** Reads a call that was started before: how many of its items the reader has. */
  readonly after?: number;
  /** Cancels the call. The reader gets no items, only its end. */
  readonly cancel?: true;
}

export interface CallTerms {
  /** `$c`: how many progress items may be sent. Absent: the client does not pace progress. */
  readonly credit: number | undefined;
  /** `$d`: how long the whole call may take, in ms. */
  readonly deadlineMs: number | undefined;
  /** `$k`: the durable call. */
  readonly key: CallKey | undefined;
}

/** Holds the terms in the meta of a decoded frame. A symbol, so that no schema and no handler sees it. */
const TERMS: unique symbol = /* @__PURE__ */ Symbol("terms");

interface Kept {
  [TERMS]?: CallTerms;
}

export function keepTerms(meta: object, terms: CallTerms): void {
  (meta as Kept)[TERMS] = terms;
}

/** The terms of a decoded frame; undefined when it has none. */
export function termsOf(meta: object): CallTerms | undefined {
  return (meta as Kept)[TERMS];
}

/** Reads the reserved keys of a request; undefined when it has none. Values that are not valid are ignored. */
export function readTerms(meta: Record<string, unknown>): CallTerms | undefined {
  const { $c, $d, $k } = meta;
  if ($c === undefined && $d === undefined && $k === undefined) return undefined;
  return {
    credit: isCount($c) ? Math.min($c, MAX_CREDIT) : undefined,
    deadlineMs: typeof $d === "number" && $d > 0 && Number.isFinite($d) ? $d : undefined,
    key: readKey($k),
  };
}

function readKey(value: unknown): CallKey | undefined {
  if (!isObject(value)) return undefined;
  const { id, after, cancel } = value;
  const isId = typeof id === "string" && id.length <= MAX_CALL_ID_LENGTH;
  return {
    // No call has an empty id: a request with an invalid key must not start a call of its own.
    id: isId ? id : "",
    ...(after !== undefined && { after: isCount(after) ? after : 0 }),
    ...(cancel === true && { cancel }),
  };
}

/** Whether a request reads or cancels a call that was started before, so that it has no payload. */
export function isAttach(key: CallKey | undefined): boolean {
  return key !== undefined && (key.after !== undefined || key.cancel === true);
}

/** Whether the value is a positive integer. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
