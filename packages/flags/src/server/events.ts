/** Events: `POST /feature-flags/events`, `POST /feature-flags/events/batch` and their server methods. */
import { murmur3 } from "../engine/murmur.ts";
import { canonicalJson } from "../model/canonical-json.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { FeatureFlagEventBatchResult, FeatureFlagEventResult } from "../model/event.ts";
import {
  type EventInput,
  parseBatchEventInput,
  parseEventBatchInput,
  parseEventInput,
  parseIdempotencyKey,
} from "../model/event-input.ts";
import type { Dedupe, EventEntry } from "../store/events/event-log.ts";
import { sha256Hex } from "../store/sha256.ts";
import { uuidV7 } from "../store/uuid.ts";
import { checkBodySize, MAX_BATCH_BODY_BYTES } from "./body-limit.ts";
import { answer, type Call, headersOf } from "./call.ts";
import { type EventSubject, type EventSubjects, identifySubjects } from "./event-subject.ts";
import { bodyWithout } from "./request.ts";
import type { Service } from "./service.ts";

export function createEvent(service: Service, call: Call): Promise<FeatureFlagEventResult> {
  return answer(call, "STORAGE_ERROR", () =>
    counted(service, 1, async () => {
      checkBodySize(call);
      const nowMs = Date.now();
      const input = parseEventInput(call.body, nowMs);
      const idempotencyKey = parseIdempotencyKey(headersOf(call).get("idempotency-key"));
      const subject = await (await identifySubjects(service, call)).of(input.context);
      const entry = await entryOf(input, subject, {
        nowMs,
        body: bodyWithout(call, "idempotencyKey"),
        idempotencyKey,
      });
      const { outcome, eventId } = await service.events.record(entry);
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
      const nowMs = Date.now();
      const { idempotencyKey } = input;
      const subjects = await identifySubjects(service, call);
      const own = await subjects.of(undefined);
      const entries: EventEntry[] = [];
      for (const event of input.events) {
        const entry = await batchEntryOf(event, subjects, nowMs, input.sampleRate);
        if (entry !== undefined) entries.push(entry);
      }
      const recorded = await service.events.recordBatch({
        entries,
        failed: input.events.length - entries.length,
        batchId: idempotencyKey ?? uuidV7(nowMs),
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

/** Undefined for an event that is wrong, or about somebody the caller may not speak for. */
async function batchEntryOf(
  event: unknown,
  subjects: EventSubjects,
  nowMs: number,
  sampleRate: number | undefined,
): Promise<EventEntry | undefined> {
  try {
    const input = parseBatchEventInput(event, nowMs);
    const subject = await subjects.of(input.context);
    const { idempotencyKey, ...body } = event as Record<string, unknown>;
    return await entryOf({ ...input, sampleRate: input.sampleRate ?? sampleRate ?? 1 }, subject, {
      nowMs,
      body,
      idempotencyKey: input.idempotencyKey,
    });
  } catch (error) {
    if (error instanceof FeatureFlagError && error.status < 500) return undefined;
    throw error;
  }
}

interface Received {
  /** Wall-clock time of receipt. */
  readonly nowMs: number;
  /** As it was sent, without the key. */
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
}

async function entryOf(
  { flagKey, event, value, properties, at, sampleRate = 1 }: EventInput,
  subject: EventSubject,
  { nowMs, body, idempotencyKey }: Received,
): Promise<EventEntry> {
  const id = uuidV7(nowMs);
  const { tenant, variant } = subject.flag(flagKey, nowMs);
  const { userId, organizationId } = subject;
  return {
    tenant,
    event: {
      id,
      flagKey,
      event,
      at,
      receivedAt: new Date(nowMs).toISOString(),
      sampleRate,
      ...(value !== undefined && { value }),
      ...(properties !== undefined && { properties }),
      ...(userId !== undefined && { userId }),
      ...(organizationId !== undefined && { organizationId }),
      ...(variant !== undefined && { variant }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    },
    isKept: murmur3(id) < sampleRate * 2 ** 32,
    ...(idempotencyKey !== undefined && { dedupe: await dedupeOf("event", subject, idempotencyKey, body) }),
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

function usedKey(field: string): FeatureFlagError {
  return new FeatureFlagError(
    "VALIDATION_ERROR",
    "This idempotency key was used with another body in the last 48 hours. Send the same body, or a new key.",
    { status: 409, details: { field } },
  );
}
