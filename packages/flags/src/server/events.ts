/** Events: `POST /feature-flags/events`, `POST /feature-flags/events/batch` and their server methods. */
import { murmur3 } from "../engine/murmur.ts";
import { canonicalJson } from "../model/canonical-json.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { FeatureFlagEventBatchResult, FeatureFlagEventResult } from "../model/event.ts";
import {
  type EventBatchInput,
  type EventInput,
  parseBatchEventInput,
  parseEventBatchInput,
  parseEventInput,
  parseIdempotencyKey,
  type Receipt,
  receiptOf,
} from "../model/event-input.ts";
import type { Dedupe, EventEntry } from "../store/events/event-log.ts";
import { sha256Hex } from "../store/sha256.ts";
import { uuidV7 } from "../store/uuid.ts";
import { checkBodySize, MAX_BATCH_BODY_BYTES } from "./body-limit.ts";
import { answer, type Call, headerReaderOf } from "./call.ts";
import { type EventSubject, type EventSubjects, identifySubjects } from "./event-subject.ts";
import { bodyWithout } from "./request.ts";
import type { Service } from "./service.ts";

export function createEvent(service: Service, call: Call): Promise<FeatureFlagEventResult> {
  return answer(call, "STORAGE_ERROR", () =>
    counted(service, 1, async () => {
      checkBodySize(call);
      const receipt = receiptOf(Date.now());
      const input = parseEventInput(call.body, receipt);
      const idempotencyKey = parseIdempotencyKey(headerReaderOf(call).get("idempotency-key"));
      const subject = await (await identifySubjects(service, call)).of(input.context);
      const sent = idempotencyKey === undefined ? input : { ...input, idempotencyKey };
      const dedupe =
        idempotencyKey === undefined
          ? undefined
          : await dedupeOf("event", subject, idempotencyKey, bodyWithout(call, "idempotencyKey"));
      const { outcome, eventId } = await service.events.record(entryOf(sent, subject, receipt, dedupe));
      if (outcome === "conflict") throw usedKey("Idempotency-Key");
      return { result: { success: true, eventId }, accepted: 1 };
    }),
  );
}

export function createEventBatch(service: Service, call: Call): Promise<FeatureFlagEventBatchResult> {
  return answer(call, "STORAGE_ERROR", async () => {
    checkBodySize(call, MAX_BATCH_BODY_BYTES);
    const input = parseEventBatchInput(call.body);
    return counted(service, input.events.length, async () => {
      const receipt = receiptOf(Date.now());
      const { idempotencyKey } = input;
      const subjects = await identifySubjects(service, call);
      const own = await subjects.of(undefined);
      const entries = await batchEntriesOf(input, subjects, own, receipt);
      const recorded = await service.events.recordBatch({
        entries,
        failed: input.events.length - entries.length,
        batchId: idempotencyKey ?? uuidV7(receipt.ms),
        ...(idempotencyKey !== undefined && {
          dedupe: await dedupeOf("batch", own, idempotencyKey, call.body),
        }),
      });
      if (recorded.outcome === "conflict") throw usedKey("idempotencyKey");
      return { result: recorded.answer, accepted: recorded.answer.success };
    });
  });
}

/** Tells the meter what became of the events of a request. */
async function counted<Result>(
  service: Service,
  events: number,
  work: () => Promise<{ readonly result: Result; readonly accepted: number }>,
): Promise<Result> {
  let accepted = 0;
  try {
    const done = await work();
    accepted = done.accepted;
    return done.result;
  } finally {
    service.meter.received("accepted", accepted);
    if (events > accepted) service.meter.received("refused", events - accepted);
  }
}

/**
 * Without the events that are wrong, or about somebody the caller may not speak for. Waits only for those that have
 * something to wait for.
 */
async function batchEntriesOf(
  { events, sampleRate }: EventBatchInput,
  subjects: EventSubjects,
  own: EventSubject,
  receipt: Receipt,
): Promise<EventEntry[]> {
  const entries: EventEntry[] = [];
  for (const event of events) {
    try {
      const input = parseBatchEventInput(event, receipt);
      const subject = input.context === undefined ? own : await subjects.of(input.context);
      const dedupe =
        input.idempotencyKey === undefined
          ? undefined
          : await dedupeOf("event", subject, input.idempotencyKey, withoutKey(event));
      entries.push(entryOf(input, subject, receipt, dedupe, sampleRate));
    } catch (error) {
      if (!(error instanceof FeatureFlagError && error.status < 500)) throw error;
    }
  }
  return entries;
}

function entryOf(
  input: EventInput,
  subject: EventSubject,
  receipt: Receipt,
  dedupe: Dedupe | undefined,
  usualRate = 1,
): EventEntry {
  const { flagKey, event, value, properties, at, sampleRate = usualRate, idempotencyKey } = input;
  const id = uuidV7(receipt.ms);
  const { tenant, variant } = subject.flag(flagKey, receipt.ms);
  const { userId, organizationId } = subject;
  return {
    tenant,
    event: {
      id,
      flagKey,
      event,
      at,
      receivedAt: receipt.at,
      sampleRate,
      ...(value !== undefined && { value }),
      ...(properties !== undefined && { properties }),
      ...(userId !== undefined && { userId }),
      ...(organizationId !== undefined && { organizationId }),
      ...(variant !== undefined && { variant }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    },
    isKept: sampleRate === 1 || murmur3(id) < sampleRate * 2 ** 32,
    ...(dedupe !== undefined && { dedupe }),
  };
}

async function dedupeOf(
  kind: "event" | "batch",
  { scope }: EventSubject,
  idempotencyKey: string,
  body: unknown,
): Promise<Dedupe> {
  const [keyHash, bodyHash] = await Promise.all([
    sha256Hex(JSON.stringify([kind, ...scope, idempotencyKey])),
    sha256Hex(canonicalJson(body)),
  ]);
  return { keyHash, bodyHash };
}

function withoutKey(event: unknown): object {
  const { idempotencyKey: _key, ...body } = event as Record<string, unknown>;
  return body;
}

function usedKey(field: string): FeatureFlagError {
  return new FeatureFlagError(
    "VALIDATION_ERROR",
    "This idempotency key was used with another body in the last 48 hours. Send the same body, or a new key.",
    { status: 409, details: { field } },
  );
}
