/** Operations that record events: `POST /feature-flags/events` and `POST /feature-flags/events/batch`. */
import { uuidv7 } from "@halyard/base";
import { murmur3 } from "../../engine/murmur.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import type {
  FeatureFlagEventBatchInput,
  FeatureFlagEventBatchResult,
  FeatureFlagEventInput,
  FeatureFlagEventResult,
} from "../../model/event.ts";
import {
  type EventBatchInput,
  type EventInput,
  eventBatchBody,
  eventBody,
  parseEventBatchInput,
  parseEventInput,
  parseIdempotencyKey,
  type Receipt,
  receiptOf,
} from "../../model/event-input.ts";
import type { Dedupe, EventEntry } from "../../store/events/event-log.ts";
import { sha256 } from "../../store/sha256.ts";
import {
  type EventScope,
  type EventSubject,
  type EventSubjects,
  type FlagSubject,
  identifySubjects,
} from "../evaluation/subjects.ts";
import { MAX_BATCH_BODY_BYTES, readBody } from "../http/body-limit.ts";
import { withFlagCode } from "../http/identity-errors.ts";
import { boolean, integer, objectOf, string } from "../http/openapi.ts";
import { withoutFields } from "../http/parameters.ts";
import type { Service } from "../service.ts";
import type { Post, PublicOperation } from "./definition.ts";

/**
 * Records an event. With the header `Idempotency-Key`, or `idempotencyKey` in the body, it is recorded once, however
 * often it is sent in 48 hours.
 */
export const createFeatureFlagEvent: PublicOperation<
  Post<"/feature-flags/events", FeatureFlagEventInput, FeatureFlagEventResult>
> = {
  summary: "Record an event",
  method: "POST",
  path: "/feature-flags/events",
  scope: "server",
  action: "public",
  rateLimit: "events",
  body: eventBody,
  result: () => objectOf({ success: boolean, eventId: string }, ["success", "eventId"]),
  run: (call) =>
    counted(call.service, 1, async () => {
      const body = readBody(call);
      const receipt = receiptOf(Date.now());
      const input = parseEventInput(body, receipt);
      const idempotencyKey = parseIdempotencyKey(call.headers.get("idempotency-key")) ?? input.idempotencyKey;
      const subjects = await identifySubjects(call);
      const subject = (await subjects.of(input.context, input.environment)).flag(input.flagKey, receipt.ms);
      const sent = idempotencyKey === undefined ? input : { ...input, idempotencyKey };
      const dedupe =
        idempotencyKey === undefined
          ? undefined
          : await dedupeOf("event", subject.scope, idempotencyKey, withoutFields(body, "idempotencyKey"));
      const { outcome, eventId } = await call.service.events.record(entryOf(sent, subject, receipt, dedupe));
      if (outcome === "conflict") throw reusedKey("Idempotency-Key");
      return { result: { success: true, eventId }, accepted: 1 };
    }),
};

/** Records up to 1,000 events; with `idempotencyKey`, once. An invalid event fails without failing the others. */
export const createFeatureFlagEventBatch: PublicOperation<
  Post<"/feature-flags/events/batch", FeatureFlagEventBatchInput, FeatureFlagEventBatchResult>
> = {
  summary: "Record up to 1,000 events",
  method: "POST",
  path: "/feature-flags/events/batch",
  scope: "server",
  action: "public",
  rateLimit: "events-batch",
  maxBodyBytes: MAX_BATCH_BODY_BYTES,
  body: eventBatchBody,
  result: () =>
    objectOf({ success: integer, failed: integer, batchId: string }, ["success", "failed", "batchId"]),
  async run(call) {
    const body = readBody(call);
    const input = parseEventBatchInput(body);
    return counted(call.service, input.events.length, async () => {
      const receipt = receiptOf(Date.now());
      const { idempotencyKey } = input;
      const subjects = await identifySubjects(call);
      const sender = await subjects.of(undefined);
      const entries = await batchEntriesOf(input, subjects, sender, receipt);
      const recorded = await call.service.events.recordBatch({
        entries,
        failed: input.events.length - entries.length,
        batchId: idempotencyKey ?? uuidv7(receipt.ms),
        ...(idempotencyKey !== undefined && {
          dedupe: await dedupeOf("batch", sender.scope, idempotencyKey, body),
        }),
      });
      if (recorded.outcome === "conflict") throw reusedKey("idempotencyKey");
      return { result: recorded.answer, accepted: recorded.answer.success };
    });
  },
};

/** Counts the accepted and refused events of a request. */
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
 * The entries of a batch, without events that are invalid or about a user whom the caller may not claim. Awaits only
 * what an event needs, because most need nothing.
 */
async function batchEntriesOf(
  { events, sampleRate }: EventBatchInput,
  subjects: EventSubjects,
  sender: EventSubject,
  receipt: Receipt,
): Promise<EventEntry[]> {
  const entries: EventEntry[] = [];
  for (const event of events) {
    try {
      const input = parseEventInput(event, receipt);
      const { context, environment } = input;
      const isOfSender = context === undefined && environment === undefined;
      const subjectOfContext = isOfSender ? sender : await subjects.of(context, environment);
      const subject = subjectOfContext.flag(input.flagKey, receipt.ms);
      const dedupe =
        input.idempotencyKey === undefined
          ? undefined
          : await dedupeOf(
              "event",
              subject.scope,
              input.idempotencyKey,
              withoutFields(event, "idempotencyKey"),
            );
      entries.push(entryOf(input, subject, receipt, dedupe, sampleRate));
    } catch (error) {
      const failure = withFlagCode(error);
      if (!(failure instanceof FeatureFlagError && failure.status < 500)) throw error;
    }
  }
  return entries;
}

function entryOf(
  input: EventInput,
  { tenant, variant, userId, anonymousId, organizationId, environment, flagId, subject }: FlagSubject,
  receipt: Receipt,
  dedupe: Dedupe | undefined,
  batchRate = 1,
): EventEntry {
  const { flagKey, event, value, properties, at, sampleRate = batchRate, idempotencyKey } = input;
  const id = uuidv7(receipt.ms);
  return {
    tenant,
    event: {
      id,
      ...(flagKey !== undefined && { flagKey }),
      event,
      at,
      receivedAt: receipt.at,
      sampleRate,
      ...(value !== undefined && { value }),
      ...(properties !== undefined && { properties }),
      ...(userId !== undefined && { userId }),
      ...(anonymousId !== undefined && { anonymousId }),
      ...(organizationId !== undefined && { organizationId }),
      ...(variant !== undefined && { variant }),
      ...(environment !== undefined && { environment }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    },
    flagId,
    subject,
    isKept: sampleRate === 1 || murmur3(id) < sampleRate * 2 ** 32,
    ...(dedupe !== undefined && { dedupe }),
  };
}

async function dedupeOf(
  kind: "event" | "batch",
  scope: EventScope,
  idempotencyKey: string,
  body: unknown,
): Promise<Dedupe> {
  const [keyHash, bodyHash] = await Promise.all([
    sha256(JSON.stringify([kind, ...scope, idempotencyKey])),
    sha256(canonicalJson(body)),
  ]);
  return { keyHash, bodyHash };
}

function reusedKey(field: string): FeatureFlagError {
  return new FeatureFlagError(
    "VALIDATION_ERROR",
    "This idempotency key was used with another body in the last 48 hours. Send the same body, or use a new key.",
    { status: 409, details: { field } },
  );
}
