/** The log of one durable call in the history of the pub/sub: a header, its items, and its end. */
import { type Clock, pause, systemClock } from "@halyard/base";
import { isObject } from "../../protocol/checks.ts";
import { type ErrorPayload, WsError } from "../../protocol/error.ts";
import type {
  AppendOptions,
  AppendResult,
  History,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
} from "../../pubsub/history.ts";

/** Items per call; the history store keeps this many frames of a topic. */
const MAX_FRAMES = 100_000;
/** The header and the end are frames too. */
export const MAX_ITEMS: number = MAX_FRAMES - 2;
/** While the call runs, its log is kept for this much longer than the longest silence of a handler, in ms. */
const RUNNING_MS = 330_000;
/** How long an append is retried, in ms. */
const RETRY_FOR_MS = 5_000;
/** The same while the broker has no memory left: readers learn it within 5 s, also when their process has died before. */
const RETRY_FULL_FOR_MS = 1_000;
/** The same for the end, without which readers would wait; a log that runs is kept for longer. */
const RETRY_END_FOR_MS = 300_000;
const RETRY_EVERY_MS = 200;
const RETRY_END_FULL_EVERY_MS = 1_000;
const PAGE_ITEMS = 256;
const PAGE_BYTES = 1_048_576;
const ID = /^[\w.-]{1,128}$/;

/** The first frame of a log. */
export interface CallHeader {
  readonly owner: string;
  /** The message type of the request. */
  readonly type: string;
  /** The process that runs the handler. */
  readonly process: string;
  /** Identifies this start: another one may use the same id. */
  readonly start: string;
}

/** A frame of a log behind the header. */
export type CallEntry =
  | { readonly kind: "item" /** JSON; empty without a value. */; readonly json: string }
  | { readonly kind: "response"; readonly payload: unknown }
  | { readonly kind: "error"; readonly error: ErrorPayload };

/** Frames begin with one letter for their kind, so that an item is not parsed on its way to a reader. */
const LETTERS = { header: "h", item: "i", response: "r", error: "e" } as const;

export function isCallId(id: string): boolean {
  return ID.test(id);
}

export function itemFrame(item: unknown): string {
  return `${LETTERS.item}${JSON.stringify(item) ?? ""}`;
}

export function responseFrame(payload: unknown): string {
  return `${LETTERS.response}${JSON.stringify(payload) ?? ""}`;
}

export function errorFrame(error: ErrorPayload): string {
  return `${LETTERS.error}${JSON.stringify(error)}`;
}

/** Whether the frame is the end of a call. */
export function isEnd(frame: string): boolean {
  return frame.startsWith(LETTERS.response) || frame.startsWith(LETTERS.error);
}

export function readEntry(frame: string): CallEntry {
  const json = frame.slice(1);
  if (frame.startsWith(LETTERS.item)) return { kind: "item", json };
  if (frame.startsWith(LETTERS.response))
    return { kind: "response", payload: json === "" ? undefined : JSON.parse(json) };
  return { kind: "error", error: JSON.parse(json) as ErrorPayload };
}

export class CallLog {
  readonly topic: string;
  readonly #history: History;
  readonly #keepMs: number;
  readonly #isShared: boolean;
  readonly #clock: Clock;
  /** Set by `create()`. A run writes only in this epoch: in another one its first items may be lost. */
  #epoch: string | undefined;

  /** `isShared`: the log is outside of this process, so that an append may have to be repeated. */
  constructor(history: History, id: string, keepMs: number, isShared: boolean, clock: Clock = systemClock) {
    this.topic = `$d/${id}`;
    this.#history = history;
    this.#keepMs = keepMs;
    this.#isShared = isShared;
    this.#clock = clock;
  }

  /** Creates the log. Rejects with `ALREADY_EXISTS` when there is one with this id. */
  async create(header: CallHeader): Promise<HistoryPosition> {
    const frame = `${LETTERS.header}${JSON.stringify(header)}`;
    const { position, isRepeated } = await this.#retried(() => this.#append(frame, "start")).catch(
      (error: unknown) => {
        // A call that has ended keeps no ids.
        throw error instanceof EndedError ? existing() : error;
      },
    );
    // The reply to an earlier attempt may be lost.
    const isOwn = !isRepeated || (await this.header())?.start === header.start;
    if (!isOwn || position.offset !== 1) throw existing();
    this.#epoch = position.epoch;
    return position;
  }

  /** Appends an item; `number` counts from 1. Rejects when the call has ended for its readers, or items are lost. */
  append(frame: string, number: number): void | Promise<void> {
    const id = this.#isShared ? String(number) : undefined;
    const result = this.#append(frame, id);
    // In memory, an append is immediate.
    if (!(result instanceof Promise) && result.ok) return undefined;
    return this.#retried(() => this.#append(frame, id), RETRY_FOR_MS, result).then(() => undefined);
  }

  /** Appends the end for a process that does not run the call, unless there is one. */
  async end(frame: string): Promise<void> {
    await this.#end(frame, undefined, RETRY_FOR_MS);
  }

  /**
   * Appends the end for the process that runs the call, unless there is one. Goes on trying while the broker is away. An
   * end that cannot be kept is replaced: by `instead`, or by `lost` when items are lost. From the end on the log is kept
   * for `keepMs`. `full` is called each time the broker has no memory left for it.
   */
  async finish(frame: string, instead: string, lost: string, full: () => void): Promise<void> {
    try {
      await this.#end(frame, this.#epoch, RETRY_END_FOR_MS, full);
    } catch (error) {
      if (error instanceof LostError) {
        // Without a header no process can read the call any more.
        if ((await this.header()) !== undefined) await this.#end(lost, undefined, RETRY_FOR_MS);
      } else if (error instanceof UnkeptError) {
        await this.#end(instead, undefined, RETRY_FOR_MS);
        throw error;
      } else throw error;
    }
  }

  async #end(frame: string, epoch: string | undefined, retryForMs: number, full?: () => void): Promise<void> {
    const options = { ...this.#options(this.#keepMs, "end"), isLast: true, epoch };
    const append = () => this.#history.append(this.topic, frame, options);
    await this.#retried(append, retryForMs, append(), full).catch((error: unknown) => {
      if (!(error instanceof EndedError)) throw error;
    });
  }

  #append(frame: string, id: string | undefined): AppendResult | Promise<AppendResult> {
    const options = { ...this.#options(this.#keepMs + RUNNING_MS, id), epoch: this.#epoch };
    return this.#history.append(this.topic, frame, options);
  }

  #options(ttlMs: number, id: string | undefined): AppendOptions {
    return { size: MAX_FRAMES, ttlMs, lifetime: "topic", id };
  }

  /** Appends are idempotent, so that one without a reply can be repeated. */
  async #retried(
    append: () => AppendResult | Promise<AppendResult>,
    retryForMs: number = RETRY_FOR_MS,
    first: AppendResult | Promise<AppendResult> = append(),
    full?: () => void,
  ): Promise<AppendResult & { readonly ok: true }> {
    const startedAt = this.#clock.now();
    const giveUpAt = startedAt + retryForMs;
    let result = await first;
    while (!result.ok) {
      if (result.error === "ENDED") throw new EndedError();
      if (result.error === "EPOCH") throw new LostError();
      if (result.error === "VALIDATION") throw new UnkeptError(result.details);
      const isFull = result.error === "FULL";
      if (isFull && !result.retryable) throw new NoRoomError(result.details);
      if (isFull && full === undefined && this.#clock.now() - startedAt >= RETRY_FULL_FOR_MS)
        throw outOfMemory();
      if (isFull) full?.();
      if (!result.retryable || this.#clock.now() >= giveUpAt)
        throw new WsError(
          "UNAVAILABLE",
          `The call could not be kept: ${result.error}. Retry later.`,
          undefined,
          { cause: new Error(JSON.stringify(result.details ?? result.error)) },
        );
      await pause(this.#clock, isFull && full !== undefined ? RETRY_END_FULL_EVERY_MS : RETRY_EVERY_MS);
      result = await append();
    }
    return result;
  }

  /** The header and its position; undefined when there is no such call, or it is not kept any more. */
  async header(): Promise<(CallHeader & { readonly position: HistoryPosition }) | undefined> {
    const page = await this.#page({ last: MAX_FRAMES, maxItems: 1, maxBytes: 1 });
    const first = page.items[0];
    if (first?.offset !== 1 || !first.frame.startsWith(LETTERS.header)) return undefined;
    const header: unknown = JSON.parse(first.frame.slice(1));
    if (!isObject(header)) return undefined;
    const { owner, type, process, start } = header;
    if (
      typeof owner !== "string" ||
      typeof type !== "string" ||
      typeof process !== "string" ||
      typeof start !== "string"
    )
      return undefined;
    return { owner, type, process, start, position: { epoch: page.epoch, offset: 1 } };
  }

  /** Whether a run can no longer write: the call has an end, or its items are lost. */
  async isClosed(): Promise<boolean> {
    const { epoch, hasEnded } = await this.#page({ maxItems: 0, maxBytes: 0 });
    return hasEnded || epoch !== this.#epoch;
  }

  /** The frames after a position. Rejects when some of them are not kept any more. */
  async read(after: HistoryPosition): Promise<HistoryPage> {
    const page = await this.#page({ after, maxItems: PAGE_ITEMS, maxBytes: PAGE_BYTES });
    if (!page.isMissing && page.epoch === after.epoch) return page;
    throw new WsError("UNAVAILABLE", "Items of this call are not kept any more.", undefined, {
      retryable: false,
    });
  }

  async #page(options: HistoryReadOptions): Promise<HistoryPage> {
    try {
      return await this.#history.read(this.topic, { ...options, create: false });
    } catch (error) {
      throw unreachable(error);
    }
  }
}

/** A failure of the broker is not the application's. */
export function unreachable(error: unknown): WsError {
  return WsError.wrap(error, "UNAVAILABLE", "The broker that keeps the items of calls is not available.");
}

export function existing(): WsError {
  return new WsError("ALREADY_EXISTS", "A call with this id exists already. Use a new id.");
}

/** The log has an end already: another process ended the call. */
export class EndedError extends Error {
  constructor() {
    super("The call has ended.");
  }
}

/** The log is in another epoch: a broker that failed over may have lost items, or the log has expired. */
class LostError extends WsError {
  constructor() {
    super("UNAVAILABLE", "The broker lost items of this call. Start it again.", undefined, {
      retryable: false,
    });
  }
}

/** What callers get while the broker has no memory left. Not retryable: the client would only attach again. */
export function outOfMemory(): WsError {
  return new WsError(
    "UNAVAILABLE",
    "The broker has no memory left for this call. Read it again later; if it is unknown then, start it again.",
    undefined,
    { retryable: false },
  );
}

/** The log does not take the frame. */
class UnkeptError extends WsError {
  constructor(
    details: unknown,
    message: string = "An item or the response of this call is larger than the broker accepts. Send it in parts, or raise maxMessageBytes.",
  ) {
    const cause = new RangeError(JSON.stringify(details));
    super("RESOURCE_EXHAUSTED", message, undefined, { retryable: false, cause });
  }
}

/** Of all logs in the memory of the process, that of the call would be the largest. */
class NoRoomError extends UnkeptError {
  constructor(details: unknown) {
    super(
      details,
      "This process has no memory left for the items of this call. Keep fewer of them, or raise maxHistoryBytes of memoryPubSub().",
    );
  }
}
