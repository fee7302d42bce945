/** Sends events and exposures to the server: in batches, and through the browser's beacon when the page unloads. */
import type { FlagState } from "../model/bootstrap.ts";
import type { JsonObject } from "../model/declared.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import type {
  FeatureFlagBatchEventInput,
  FeatureFlagEventBatchInput,
  FeatureFlagEventBatchResult,
  FeatureFlagEventResult,
} from "../model/event.ts";
import { areRequestsIsolated, newId, onPageHide, pause, warnInDevelopment } from "./environment.ts";
import type { ClientResult, Transport } from "./transport.ts";

/** The options of `track`. */
export type TrackOptions = {
  /** The server counts events with the same key once. Default: a random key. */
  idempotencyKey?: string | undefined;
};

/** An event of `trackBatch`. */
export type TrackItem = {
  /** The key of the flag. */
  flag: string;
  /** The name of the event. */
  event: string;
  /** A number is stored as the value of the event, an object as its properties. */
  data?: number | JsonObject | undefined;
  /** When the event happened. Default: now. */
  timestamp?: Date | undefined;
  /** The server counts events with the same key once. Default: a random key. */
  idempotencyKey?: string | undefined;
};

/**
 * Whether the server accepted the event. `eventId` is the server's id; for an event that was sent in a batch it is the
 * event's idempotency key.
 */
export type TrackResult = { readonly success: true; readonly eventId: string } | { readonly success: false };

/** How many events the server accepted and refused. */
export type TrackBatchResult = {
  /** Accepted events. */
  readonly success: number;
  /** Refused events. */
  readonly failed: number;
  /** The id of the batch. Absent without a response. */
  readonly batchId?: string;
};

export interface EventSender {
  track(
    flagKey: string,
    event: string,
    value?: number | JsonObject,
    options?: TrackOptions,
  ): Promise<TrackResult>;
  trackBatch(items: readonly TrackItem[], batchId?: string): Promise<TrackBatchResult>;
  /**
   * Reports that the flag's value was shown to the user, once per flag and arm, after a delay of 1 s. With the token of the
   * evaluation, the server records the arm that was shown; without one, it evaluates the flag again.
   */
  expose(key: string, state: FlagState, token: string | undefined): void;
  /** Starts a new set of exposures. `isOtherUser`: also refuses the events that wait, which belong to the previous user. */
  reset(isOtherUser: boolean): void;
}

const EVENT_PATH = "/feature-flags/events";
const BATCH_PATH = "/feature-flags/events/batch";
const EXPOSURE_PATH = "/feature-flags/evaluate-batch";
const TOKEN_PATH = "/feature-flags/exposures";
/** Most events of one request. */
const MAX_TOGETHER = 100;
/** Most events without a response; further events are refused. */
const MAX_WAITING = 1_000;
/** Most flags of one request: the server's limit, and as many tokens as fit into a beacon. */
const MAX_EXPOSURES = 100;
const EXPOSURE_DELAY_MS = 1_000;
/** Attempts to report tokens, with a pause that doubles each time. A token counts once. */
const MAX_ATTEMPTS = 6;
/** A server that does not respond must not block all later events. */
const TIMEOUT_MS = 30_000;

type Item = FeatureFlagBatchEventInput & { idempotencyKey: string };
type Waiting = { readonly item: Item; readonly settle: (result: TrackResult) => void };
type Unanswered = { readonly body: FeatureFlagEventBatchInput; isHandedOver: boolean };

export interface EventSenderOptions {
  /** The context of an event at the time of tracking. */
  readonly contextOf: () => ClaimedContext | undefined;
  /** The environment in which flags are evaluated. */
  readonly environment?: string | undefined;
  /** Called with every request in flight. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

export function createEventSender(transport: Transport, options: EventSenderOptions): EventSender {
  const { contextOf, environment, waitUntil } = options;
  const queue: Waiting[] = [];
  /** Requests in flight. An unload may cancel them, so a beacon repeats them; idempotency keys prevent double counts. */
  const unanswered = new Set<Unanswered>();
  const exposed = new Set<string>();
  /** Shown flags without a token. */
  const unreported = new Set<string>();
  /** Tokens of shown flags that are not reported yet, and those in requests without a response. */
  const tokens = new Set<string>();
  const unansweredTokens = new Set<string>();
  /** Incremented when another user signs in. */
  let userNumber = 0;
  let waiting = 0;
  let isSending = false;
  let isWatching = false;
  /** Whether a report of exposures is due. Tokens of an earlier one may wait for another attempt. */
  let isReportDue = false;

  async function post<Data>(
    path: string,
    body: object,
    copy: FeatureFlagEventBatchInput,
    headers: Record<string, string> = {},
  ): Promise<ClientResult<Data>> {
    const entry: Unanswered = { body: copy, isHandedOver: false };
    if (!areRequestsIsolated) unanswered.add(entry);
    const result = await keepAlive(transport.request<Data>(path, { body, headers, timeoutMs: TIMEOUT_MS }));
    unanswered.delete(entry);
    return result;
  }

  async function sendOne({ item, settle }: Waiting): Promise<void> {
    const { idempotencyKey, ...body } = item;
    const headers = { "idempotency-key": idempotencyKey };
    const { data } = await post<FeatureFlagEventResult>(EVENT_PATH, body, { events: [item] }, headers);
    settle(data?.success === true ? { success: true, eventId: data.eventId } : { success: false });
  }

  async function sendTogether(events: readonly Waiting[]): Promise<void> {
    const mine = userNumber;
    const body = { events: events.map(({ item }) => item) };
    const { data, error } = await post<FeatureFlagEventBatchResult>(BATCH_PATH, body, body);
    if (data?.failed === 0) {
      for (const { item, settle } of events) settle({ success: true, eventId: item.idempotencyKey });
    } else if (mine !== userNumber || (data === null && error.status !== 400)) {
      for (const { settle } of events) settle({ success: false });
    } else {
      // The response does not name the failed events. Sent one by one they have separate results and still count once.
      for (const event of events) {
        if (mine === userNumber) await sendOne(event);
        else event.settle({ success: false });
      }
    }
  }

  /** One request at a time. Events tracked in the meantime go into the next request. */
  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    // Waits one microtask, so that events tracked in the same turn share a request.
    await Promise.resolve();
    while (queue.length > 0) {
      const events = queue.splice(0, MAX_TOGETHER);
      const [first] = events;
      if (events.length === 1 && first !== undefined) await sendOne(first);
      else await sendTogether(events);
    }
    isSending = false;
  }

  async function sendTokens(attempt = 1): Promise<void> {
    const [sent] = chunksOf([...tokens]);
    if (sent === undefined) return;
    for (const token of sent) {
      tokens.delete(token);
      unansweredTokens.add(token);
    }
    const options = { body: { exposures: sent }, timeoutMs: TIMEOUT_MS };
    const { error } = await keepAlive(transport.request(TOKEN_PATH, options));
    for (const token of sent) unansweredTokens.delete(token);
    if (error === null || !isTemporary(error.status)) return sendTokens();
    if (attempt === MAX_ATTEMPTS) return;
    for (const token of sent) tokens.add(token);
    await keepAlive(pause(EXPOSURE_DELAY_MS * 2 ** (attempt - 1)));
    return sendTokens(attempt + 1);
  }

  function reportKeys(deliver: (path: string, body: object) => void): void {
    for (const flagKeys of chunksOf([...unreported])) {
      deliver(EXPOSURE_PATH, {
        flagKeys,
        track: true,
        select: "value",
        contextInResponse: false,
        ...withContext(),
      });
    }
    unreported.clear();
  }

  /** Reports after a delay, so that flags read shortly after each other share a request. */
  async function reportLater(): Promise<void> {
    if (isReportDue) return;
    isReportDue = true;
    await pause(EXPOSURE_DELAY_MS);
    isReportDue = false;
    reportKeys((path, body) => void keepAlive(transport.request(path, { body })));
    await sendTokens();
  }

  function keepAlive<Result>(work: Promise<Result>): Promise<Result> {
    try {
      waitUntil?.(work);
    } catch (error) {
      // The request continues for as long as the runtime permits.
      warnInDevelopment(`waitUntil: ${error}`);
    }
    return work;
  }

  // What is undefined is not in the request.
  function withContext(): { context: ClaimedContext | undefined; environment: string | undefined } {
    return { context: contextOf(), environment };
  }

  function watchPage(): void {
    if (isWatching) return;
    isWatching = true;
    onPageHide(() => {
      reportKeys(transport.beacon);
      for (const exposures of chunksOf([...tokens, ...unansweredTokens]))
        transport.beacon(TOKEN_PATH, { exposures });
      tokens.clear();
      const events = queue.map(({ item }) => item);
      if (events.length > 0) transport.beacon(BATCH_PATH, { events });
      for (const entry of unanswered) {
        if (!entry.isHandedOver) transport.beacon(BATCH_PATH, entry.body);
        entry.isHandedOver = true;
      }
    });
  }

  return {
    track(flagKey, event, value, { idempotencyKey = newId() } = {}) {
      watchPage();
      const item: Item = {
        ...eventOf({ flag: flagKey, event, data: value }),
        ...withContext(),
        idempotencyKey,
      };
      // With isolated requests, the request that an event waits for may have been cancelled.
      if (areRequestsIsolated) return new Promise((settle) => void sendOne({ item, settle }));
      if (waiting >= MAX_WAITING) {
        warnInDevelopment(`${MAX_WAITING} events are unacknowledged. Further events are dropped.`);
        return Promise.resolve({ success: false });
      }
      waiting += 1;
      return new Promise<TrackResult>((resolve) => {
        const settle = (result: TrackResult): void => {
          waiting -= 1;
          resolve(result);
        };
        queue.push({ item, settle });
        void send();
      });
    },
    async trackBatch(items, batchId = newId()) {
      if (items.length === 0) return { success: 0, failed: 0, batchId };
      watchPage();
      const events = items.map((item) => ({
        ...eventOf(item),
        ...withContext(),
        ...(item.idempotencyKey !== undefined && { idempotencyKey: item.idempotencyKey }),
      }));
      const body = { events, idempotencyKey: batchId };
      const { data, error } = await post<FeatureFlagEventBatchResult>(BATCH_PATH, body, body);
      if (error === null) return data;
      warnInDevelopment(`The batch was not accepted: ${error.message}`);
      return { success: 0, failed: items.length };
    },
    expose(key, { value, variant, reason }, token) {
      const mark = `${key}:${variant ?? (typeof value === "boolean" ? value : "")}`;
      if (exposed.has(mark)) return;
      if (areRequestsIsolated && !waitUntil) return warnInDevelopment("Set waitUntil to report exposures.");
      // A second evaluation could record another arm than the one that was shown.
      if (token === undefined && (variant !== undefined || reason === "percentage_rollout"))
        return warnInDevelopment(`No exposure of "${key}". Evaluate the flags with exposures: true.`);
      exposed.add(mark);
      watchPage();
      void keepAlive(reportLater());
      if (token === undefined) unreported.add(key);
      else tokens.add(token);
    },
    reset(isOtherUser) {
      exposed.clear();
      // Reported now, these exposures would count for the next user. A token names the user it was made for.
      unreported.clear();
      void sendTokens();
      if (!isOtherUser) return;
      // Idempotency keys are scoped to the user, so another user's beacon would count these events twice.
      for (const entry of unanswered) entry.isHandedOver = true;
      userNumber += 1;
      for (const { settle } of queue.splice(0)) settle({ success: false });
    },
  };
}

function chunksOf(items: string[]): string[][] {
  const chunks: string[][] = [];
  while (items.length > 0) chunks.push(items.splice(0, MAX_EXPOSURES));
  return chunks;
}

/** Whether the same request may succeed later. */
function isTemporary(status: number): boolean {
  return status < 400 || status === 429 || status > 499;
}

function eventOf({ flag, event, data, timestamp }: TrackItem): FeatureFlagBatchEventInput {
  return {
    flagKey: flag,
    event,
    ...(data !== undefined && { properties: data }),
    ...(timestamp !== undefined && { timestamp: timestamp.toJSON() }),
  };
}
