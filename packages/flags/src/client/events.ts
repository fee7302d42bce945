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

export type TrackOptions = {
  /** The server counts events with the same key once. Default: a random key. */
  idempotencyKey?: string | undefined;
};

/** An event of `trackBatch`. */
export type TrackItem = {
  flag: string;
  event: string;
  data?: number | JsonObject | undefined;
  timestamp?: Date | undefined;
  idempotencyKey?: string | undefined;
};

/**
 * Whether the server accepted the event. `eventId` is the server's id; for an event that was sent in a batch it is the
 * event's idempotency key.
 */
export type TrackResult = { readonly success: true; readonly eventId: string } | { readonly success: false };

/** How many events the server accepted and refused. */
export type TrackBatchResult = {
  readonly success: number;
  readonly failed: number;
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
  /** Reports that the flag's value was shown to the user, once per flag and variant, after a delay of 1 s. */
  expose(key: string, state: FlagState): void;
  /** Starts a new set of exposures. `isOtherUser`: also refuses the events that wait, which belong to the previous user. */
  reset(isOtherUser: boolean): void;
}

const EVENT_PATH = "/feature-flags/events";
const BATCH_PATH = "/feature-flags/events/batch";
const EXPOSURE_PATH = "/feature-flags/evaluate-batch";
/** Most events of one request. */
const MAX_TOGETHER = 100;
/** Most events without a response; further events are refused. */
const MAX_WAITING = 1_000;
/** Most flags of one request; the server's limit. */
const MAX_EXPOSURES = 100;
const EXPOSURE_DELAY_MS = 1_000;
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
  const unreported = new Set<string>();
  /** Incremented when another user signs in. */
  let userNumber = 0;
  let waiting = 0;
  let isSending = false;
  let isWatching = false;

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

  function report(deliver: (path: string, body: object) => void): void {
    const keys = [...unreported];
    unreported.clear();
    for (let at = 0; at < keys.length; at += MAX_EXPOSURES) {
      deliver(EXPOSURE_PATH, {
        flagKeys: keys.slice(at, at + MAX_EXPOSURES),
        track: true,
        select: "value",
        contextInResponse: false,
        ...withContext(),
        environment,
      });
    }
  }

  /** Reports after a delay, so that flags read shortly after each other share a request. */
  async function reportLater(): Promise<void> {
    await pause(EXPOSURE_DELAY_MS);
    report((path, body) => void keepAlive(transport.request(path, { body })));
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

  function withContext(): { context: ClaimedContext } | undefined {
    const context = contextOf();
    return context && { context };
  }

  function watchPage(): void {
    if (isWatching) return;
    isWatching = true;
    onPageHide(() => {
      report(transport.beacon);
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
    expose(key, { variant = "" }) {
      const mark = `${key}:${variant}`;
      if (exposed.has(mark)) return;
      if (areRequestsIsolated && !waitUntil) return warnInDevelopment("Set waitUntil to report exposures.");
      exposed.add(mark);
      watchPage();
      if (unreported.size === 0) void keepAlive(reportLater());
      unreported.add(key);
    },
    reset(isOtherUser) {
      // Reported now, these exposures would count for the next user.
      exposed.clear();
      unreported.clear();
      if (!isOtherUser) return;
      // Idempotency keys are scoped to the user, so another user's beacon would count these events twice.
      for (const entry of unanswered) entry.isHandedOver = true;
      userNumber += 1;
      for (const { settle } of queue.splice(0)) settle({ success: false });
    },
  };
}

function eventOf({ flag, event, data, timestamp }: TrackItem): FeatureFlagBatchEventInput {
  return {
    flagKey: flag,
    event,
    ...(data !== undefined && { properties: data }),
    ...(timestamp !== undefined && { timestamp: timestamp.toJSON() }),
  };
}
