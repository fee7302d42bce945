/** Events on their way to the server: sent together when there are several, and handed to the browser when the page goes. */
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
  /** The server counts events with the same key once. A random one when absent. */
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
 * Whether the server has accepted the event. `eventId` is the server's; for an event that was sent together with others
 * it is the idempotency key it is stored under.
 */
export type TrackResult = { readonly success: true; readonly eventId: string } | { readonly success: false };

/** How many events the server has accepted. */
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
  /** Remembers that a flag's value was given to somebody, and reports it a moment later. */
  expose(key: string, state: FlagState): void;
  /** What is seen from now on was not seen before; `isAnother`: and is another's, whom no event that waits is about. */
  forget(isAnother: boolean): void;
}

const EVENT_PATH = "/feature-flags/events";
const BATCH_PATH = "/feature-flags/events/batch";
const EXPOSURE_PATH = "/feature-flags/evaluate-batch";
/** Events of one request. */
const MAX_TOGETHER = 100;
/** Events without an answer; one more is refused. */
const MAX_WAITING = 1_000;
/** Flags of one request, by the server's limit. */
const MAX_EXPOSURES = 100;
const EXPOSURE_DELAY_MS = 1_000;
/** A server that does not answer must not hold up all events after. */
const TIMEOUT_MS = 30_000;

type Item = FeatureFlagBatchEventInput & { idempotencyKey: string };
type Waiting = { readonly item: Item; readonly settle: (result: TrackResult) => void };
type Unanswered = { readonly body: FeatureFlagEventBatchInput; isHandedOver: boolean };

export interface EventSenderOptions {
  /** Whom an event is about, when it happens. */
  readonly contextOf: () => ClaimedContext | undefined;
  /** The deployment ring that flags were evaluated in. */
  readonly environment?: string | undefined;
  /** Is told of all that is on its way. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

export function createEventSender(transport: Transport, options: EventSenderOptions): EventSender {
  const { contextOf, environment, waitUntil } = options;
  const queue: Waiting[] = [];
  /** Requests without an answer. Leaving the page may end them, so a copy goes along; the keys make it count once. */
  const unanswered = new Set<Unanswered>();
  const exposed = new Set<string>();
  const unreported = new Set<string>();
  /** Counts whose events they are. */
  let person = 0;
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
    const result = await keep(transport.request<Data>(path, { body, headers, timeoutMs: TIMEOUT_MS }));
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
    const mine = person;
    const body = { events: events.map(({ item }) => item) };
    const { data, error } = await post<FeatureFlagEventBatchResult>(BATCH_PATH, body, body);
    if (data?.failed === 0) {
      for (const { item, settle } of events) settle({ success: true, eventId: item.idempotencyKey });
    } else if (mine !== person || (data === null && error.status !== 400)) {
      for (const { settle } of events) settle({ success: false });
    } else {
      // Which of them failed is not said; asked one by one the server tells, and counts none twice.
      for (const event of events) {
        if (mine === person) await sendOne(event);
        else event.settle({ success: false });
      }
    }
  }

  /** One request at a time: what comes meanwhile goes together with the next. */
  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    // What is tracked in the same turn goes together, too.
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

  /** Reports, in a moment, what was read until then. */
  async function reportLater(): Promise<void> {
    await pause(EXPOSURE_DELAY_MS);
    report((path, body) => void keep(transport.request(path, { body })));
  }

  function keep<Result>(work: Promise<Result>): Promise<Result> {
    try {
      waitUntil?.(work);
    } catch (error) {
      // It goes on all the same, as long as the runtime lets it.
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
      // What waits for others could wait for a request that has ended.
      if (areRequestsIsolated) return new Promise((settle) => void sendOne({ item, settle }));
      if (waiting >= MAX_WAITING) {
        warnInDevelopment(`${MAX_WAITING} events wait for the server; the next ones are refused.`);
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
      warnInDevelopment(`A batch of events was not accepted: ${error.message}`);
      return { success: 0, failed: items.length };
    },
    expose(key, { variant = "" }) {
      const mark = `${key}:${variant}`;
      if (exposed.has(mark)) return;
      if (areRequestsIsolated && !waitUntil) return warnInDevelopment("Exposures need waitUntil.");
      exposed.add(mark);
      watchPage();
      if (unreported.size === 0) void keep(reportLater());
      unreported.add(key);
    },
    forget(isAnother) {
      // The one who saw them has left: reported now, they would be the next one's.
      exposed.clear();
      unreported.clear();
      if (!isAnother) return;
      // Under another name the keys would not make a copy count once.
      for (const entry of unanswered) entry.isHandedOver = true;
      person += 1;
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
