/** The sessions that are watched for one auth instance. */
import { changeFeedOf } from "../changes/change-feed.ts";
import type { HostContext } from "../identify/request.ts";
import type { LiveSession } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { Reconciliation } from "./reconciliation.ts";
import { createRowCounts } from "./row-counts.ts";
import { createRowVersions } from "./row-versions.ts";
import { createSessionChanges } from "./session-changes.ts";
import { createSessionReader } from "./session-reader.ts";

export interface WatchedSessions {
  readonly live: LiveSessions;
  readonly reconciliation: Reconciliation;
}

/** Minimum interval between two log entries: the store is read again every few seconds. */
const REPORT_INTERVAL_MS = 60_000;

/** By the adapter, which is the same object for every request to an auth instance. */
const instances = new WeakMap<object, WatchedSessions>();

export function watchedSessionsOf(context: HostContext): WatchedSessions {
  const sessions = instances.get(context.adapter) ?? createWatchedSessions(context);
  instances.set(context.adapter, sessions);
  return sessions;
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
  const versions = createRowVersions<LiveSession>(context);
  const counts = reader.isBatched ? createRowCounts(createSessionChanges(context.adapter)) : undefined;
  const live = new LiveSessions({
    feed,
    reader,
    comparisons: [versions, counts].filter((comparison) => comparison !== undefined),
    report,
  });
  const reconciliation = new Reconciliation({ sessions: live, feed, report });
  live.onAdded = () => reconciliation.start();
  return { live, reconciliation };
}
