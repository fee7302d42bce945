/** Deletes rows past their retention through the adapter, oldest first, in chunks. */
import type { OutboxRow } from "../../../model/tables.ts";
import type { Adapter } from "../../rows/queries.ts";
import { sleep } from "../../wait.ts";
import { DAY_MS } from "../hour.ts";
import { idFloor } from "../ids.ts";
import { OUTBOX_MARGIN_MS, type Retention, SUBJECT_SLACK_MS } from "../limits.ts";
import { EXPOSURES } from "./exposure-rows.ts";
import { OUTBOX } from "./outbox.ts";
import { EVALUATION_COUNTS, EVENT_COUNTS, rollupRange } from "./rollup.ts";
import { LINKS, SUBJECTS } from "./subjects.ts";

/** Rows per chunk. */
const CHUNK = 1000;
/** Chunks per table and sweep. The next sweep continues. */
const MAX_CHUNKS = 200;

/** Tables with rows about single flags, and their ids. */
const OF_FLAGS = [
  [EXPOSURES, "exposureId"],
  [SUBJECTS, "subjectHash"],
  ["featureFlagEvent", "eventId"],
  [EVENT_COUNTS, "rollupId"],
  [EVALUATION_COUNTS, "rollupId"],
] as const;

/** Deletes everything that is stored about a flag. */
export async function forgetFlag(adapter: Adapter, flagId: string): Promise<void> {
  const ofFlag = { field: "flagId", value: flagId };
  for (const [model, field] of OF_FLAGS) {
    for (;;) {
      const rows = await adapter.findMany<Record<string, string>>({
        model,
        where: [ofFlag],
        sortBy: { field, direction: "asc" },
        select: [field],
        limit: CHUNK,
      });
      const last = rows.at(-1)?.[field];
      if (last === undefined) break;
      await adapter.deleteMany({ model, where: [ofFlag, { field, operator: "lte", value: last }] });
      if (rows.length < CHUNK) break;
      await sleep(0);
    }
  }
}

/** Returns false if rows are left for another sweep. */
export async function sweepEvents(
  adapter: Adapter,
  nowMs: number,
  { eventDays, rollupDays }: Retention,
): Promise<boolean> {
  const eventsMs = nowMs - eventDays * DAY_MS;
  const [rollups] = rollupRange({ startMs: nowMs - rollupDays * DAY_MS, endMs: nowMs });
  const limits = [
    ["featureFlagEventKey", "expiresAt", new Date(nowMs).toISOString()],
    ["featureFlagEvent", "eventId", idFloor(Math.min(eventsMs, await waitingSince(adapter)))],
    [EXPOSURES, "exposureId", idFloor(eventsMs)],
    [SUBJECTS, "lastAt", new Date(eventsMs - SUBJECT_SLACK_MS).toISOString()],
    [LINKS, "at", new Date(nowMs - rollupDays * DAY_MS).toISOString()],
    [EVENT_COUNTS, "rollupId", rollups],
    [EVALUATION_COUNTS, "rollupId", rollups],
  ] as const;
  let isDone = true;
  for (const [model, field, limit] of limits) {
    if (!(await deleteBefore(adapter, model, field, limit))) isDone = false;
  }
  return isDone;
}

/** Events that wait for a consumer are kept. */
async function waitingSince(adapter: Adapter): Promise<number> {
  const sortBy = { field: "entryId", direction: "asc" as const };
  const [oldest] = await adapter.findMany<OutboxRow>({ model: OUTBOX, sortBy, limit: 1 });
  return oldest === undefined ? Number.POSITIVE_INFINITY : Date.parse(oldest.enqueuedAt) - OUTBOX_MARGIN_MS;
}

/** Deletes rows whose `field` is less than the limit, oldest first. Returns false if some are left. */
export async function deleteBefore(
  adapter: Adapter,
  model: string,
  field: string,
  limit: string,
  chunks: number = MAX_CHUNKS,
): Promise<boolean> {
  for (let chunk = 0; chunk < chunks; chunk++) {
    const rows = await adapter.findMany<Record<string, string>>({
      model,
      where: [{ field, operator: "lt", value: limit }],
      sortBy: { field, direction: "asc" },
      select: [field],
      limit: CHUNK,
    });
    const last = rows.at(-1)?.[field];
    if (last === undefined) return true;
    await adapter.deleteMany({ model, where: [{ field, operator: "lte", value: last }] });
    if (rows.length < CHUNK) return true;
    await sleep(0);
  }
  return false;
}
