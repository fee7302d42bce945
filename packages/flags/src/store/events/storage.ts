/** The contract of the tables behind an event log. There are two sets: Better Auth's, and those of the option `postgres`. */
import type { EventLog, FigureWindow, UsageFigures } from "./event-log.ts";
import type { Group, Outcomes } from "./group.ts";
import type { Retention } from "./limits.ts";

/** The consumer of the outbox that counts events. No sink can have this name. */
export const STATISTICS: string = "$statistics";

type Figures = Pick<EventLog, "flagFigures" | "summaries" | "hourlyEvaluations" | "activity" | "armActivity">;

/** The figures of what is counted. */
export type CountedUsage = Omit<UsageFigures, "asOfMs">;

export interface EventStorage extends Figures, Pick<EventLog, "expose" | "link" | "count" | "forget"> {
  /** Rows that are written in one transaction. */
  readonly maxGroupRows: number;
  /** Transactions at the same time. */
  readonly maxParallel: number;
  /** Whether a call must write by itself: inside a transaction of the host, and where requests are isolated. */
  writesDirectly(): Promise<boolean>;
  /**
   * Stores the group's keys, events and outbox entries in one transaction: in that of the caller if `isDirect`, else in its
   * own. An event whose key, or whose batch's key, was used before is not stored.
   */
  insertGroup(group: Group, isDirect: boolean): Promise<Outcomes>;
  /** Whether the error of a group may concern one of its requests only. */
  mayConcernOne(error: unknown): boolean;
  /**
   * Counts the events of the oldest outbox entries and removes these entries, in one transaction. False if none was left.
   * `waits`: until other processes that fold have committed; otherwise it leaves the work to them.
   */
  fold(waits: boolean): Promise<boolean>;
  usageFigures(tenant: string | "all", window: FigureWindow): Promise<CountedUsage>;
  /** When the oldest event that is not counted yet was stored, in ms. */
  waitingSince(): Promise<number | undefined>;
  /** Deletes rows past their retention. False if some are left. */
  deleteOld(nowMs: number, retention: Retention): Promise<boolean>;
  /** Why these tables may not be used: rows that another setting of the option `postgres` has stored. */
  refusal?(): Promise<string | undefined>;
}
