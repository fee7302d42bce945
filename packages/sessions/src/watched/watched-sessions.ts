/** What is watched for one auth instance: its sessions, and fields of rows that plugins ask for. */
import { changeFeedOf } from "../changes/change-feed.ts";
import type { HostContext } from "../identify/request.ts";
import type { Row } from "../identify/session-caller.ts";
import { sharedPart } from "../identify/shared-parts.ts";
import { createFieldReader, keyFieldOf } from "./field-reader.ts";
import { LiveSessions } from "./live-sessions.ts";
import { Reconciliation } from "./reconciliation.ts";
import { createRowCounts } from "./row-counts.ts";
import { createRowVersions } from "./row-versions.ts";
import { createSessionReader } from "./session-reader.ts";
import { createTableVersions } from "./table-versions.ts";
import { WatchedFields, type WatchedFieldsOptions, type WatchedModel } from "./watched-fields.ts";

export interface WatchedSessions {
  readonly live: LiveSessions;
  readonly reconciliation: Reconciliation;
}

/** Minimum interval between two log entries: the store is read again every few seconds. */
const REPORT_INTERVAL_MS = 60_000;

export function watchedSessionsOf(context: HostContext): WatchedSessions {
  return sharedPart(context.adapter, "watched", () => createWatchedSessions(context));
}

function createWatchedSessions(context: HostContext): WatchedSessions {
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  const report = (error: unknown): void => {
    if (performance.now() - reportedAtMs < REPORT_INTERVAL_MS) return;
    reportedAtMs = performance.now();
    context.logger.error(
      "[halyard] The sessions in use could not be checked. They are checked again:",
      error,
    );
  };
  const feed = changeFeedOf(context);
  const reader = createSessionReader(context);
  const versions = createRowVersions(context);
  const counts = reader.isBatched ? createRowCounts(context.adapter) : undefined;
  const live = new LiveSessions({
    feed,
    reader,
    comparisons: [versions, counts].filter((comparison) => comparison !== undefined),
    report,
  });
  const reconciliation = new Reconciliation({ feed, report });
  reconciliation.add(live);
  return { live, reconciliation };
}

/** The options of `watchFields`. */
export interface FieldsOptions<Fields> extends Pick<WatchedFieldsOptions<Fields>, "report" | "isIsolated"> {
  /** The fields that are read. */
  readonly names: readonly string[];
  /** What is kept of them. */
  readonly pick: (row: Row) => Fields;
  /** Whether a row is compared in the background while requests use it. Default true. */
  readonly isReconciled?: boolean;
}

/** Fields of the rows of a table of this auth instance. */
export function watchFields<Fields>(
  context: HostContext,
  model: WatchedModel,
  { names, pick, report, isIsolated = false, isReconciled = true }: FieldsOptions<Fields>,
): WatchedFields<Fields> {
  const readRows = createFieldReader(context, model, names);
  const isInDatabase = model !== "session" || context.options.secondaryStorage === undefined;
  // An isolated request reads for itself: a second query would not save the first. A key is written at each use.
  const versions =
    isInDatabase && isReconciled && !isIsolated
      ? createTableVersions<Fields>(context, model, keyFieldOf(model))
      : undefined;
  const fields = new WatchedFields<Fields>({
    model,
    feed: changeFeedOf(context),
    read: async (keys) => {
      const rows = await readRows(keys);
      return new Map([...rows].map(([key, row]) => [key, pick(row)]));
    },
    comparisons: versions === undefined ? [] : [versions],
    report,
    isIsolated,
  });
  if (isReconciled && !isIsolated) watchedSessionsOf(context).reconciliation.add(fields);
  return fields;
}
