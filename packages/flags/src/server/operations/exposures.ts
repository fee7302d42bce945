/** The operation that records shown flags by their tokens: `POST /feature-flags/exposures`. */
import { within } from "@halyard/base";
import type { Caller } from "@halyard/sessions/plugin";
import { FeatureFlagError } from "../../model/errors.ts";
import {
  exposuresBody,
  type FeatureFlagExposuresInput,
  type FeatureFlagExposuresResult,
  parseExposuresInput,
} from "../../model/exposure-input.ts";
import { QUEUE_RETRY_SECONDS } from "../../store/events/event-queue.ts";
import { storableId } from "../../store/events/ids.ts";
import type { Snapshot } from "../../store/flag-store.ts";
import type { ShownFlag } from "../evaluation/exposure-tokens.ts";
import { MAX_BATCH_BODY_BYTES, readBody } from "../http/body-limit.ts";
import { integer, objectOf } from "../http/openapi.ts";
import type { Service } from "../service.ts";
import type { Post, PublicOperation } from "./definition.ts";

/** The longest wait for the database. What is not written by then is written in the background. */
const WRITE_WAIT_MS = 5000;

/**
 * Records that flags were shown, by up to 1,000 tokens from evaluations with `exposures: true`. A token counts once,
 * however often it is sent. Tokens that are forged, older than 24 hours, of another user or of a deleted flag fail.
 */
export const createFeatureFlagExposures: PublicOperation<
  Post<"/feature-flags/exposures", FeatureFlagExposuresInput, FeatureFlagExposuresResult>
> = {
  summary: "Record that flags were shown",
  method: "POST",
  path: "/feature-flags/exposures",
  scope: "server",
  action: "public",
  rateLimit: "events",
  maxBodyBytes: MAX_BATCH_BODY_BYTES,
  body: exposuresBody,
  result: () => objectOf({ success: integer, failed: integer }, ["success", "failed"]),
  async run(call) {
    const { service } = call;
    const tokens = parseExposuresInput(readBody(call));
    const caller = await call.identity.evaluator();
    const nowMs = Date.now();
    const exists = createFlagFinder(service);
    let success = 0;
    let isFull = false;
    for (const token of tokens) {
      const shown = service.tokens.read(token, nowMs);
      if (shown === undefined || isForeign(shown, caller) || !(await exists(shown))) continue;
      const { revision: _, atMs, ...exposure } = shown;
      if (service.exposures.add({ ...exposure, firstMs: atMs, lastMs: atMs })) success += 1;
      else isFull = true;
    }
    if (isFull && success === 0) throw queueFull();
    if (success > 0) {
      const writing = service.exposures.flush();
      await within(writing, WRITE_WAIT_MS, "The exposures are written later.").catch(() => undefined);
    }
    return { success, failed: tokens.length - success };
  },
};

/** A token of a user may not be reported by another user. A visitor who has signed in or out is the same person. */
function isForeign({ userId }: ShownFlag, caller: Caller): boolean {
  return caller.kind === "user" && userId !== undefined && userId !== storableId(caller.user.id);
}

const idsOfSnapshots = new WeakMap<Snapshot, ReadonlySet<string>>();

/** Whether the flag of a token still exists. Reads the flags of a tenant at most twice. */
function createFlagFinder({ store }: Service): (shown: ShownFlag) => Promise<boolean> {
  const fresh = new Map<string, ReadonlySet<string>>();
  return async ({ tenant, flagId, revision }) => {
    const known = await store.snapshot(tenant);
    if (idsOf(known.snapshot).has(flagId)) return true;
    // Another process may have made the token with newer flags. Its revision is a sum, so at least that of this tenant.
    const ids = fresh.get(tenant) ?? idsOf((await store.snapshot(tenant, revision)).snapshot);
    fresh.set(tenant, ids);
    return ids.has(flagId);
  };
}

function idsOf(snapshot: Snapshot): ReadonlySet<string> {
  let ids = idsOfSnapshots.get(snapshot);
  if (ids === undefined) {
    ids = new Set(Array.from(snapshot.flags.values(), ({ flag }) => flag.id));
    idsOfSnapshots.set(snapshot, ids);
  }
  return ids;
}

function queueFull(): FeatureFlagError {
  return new FeatureFlagError(
    "RATE_LIMIT_EXCEEDED",
    `Too many exposures are waiting to be written. Send the request again in ${QUEUE_RETRY_SECONDS} s.`,
    { details: { retryAfter: QUEUE_RETRY_SECONDS } },
  );
}
