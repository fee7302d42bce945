/** Statistics of a flag and of all flags, as the API returns them. */
import type { EvaluationReason } from "../engine/definition.ts";

/** `start` inclusive, `end` exclusive. ISO 8601. */
export type StatsWindow = { readonly start: string; readonly end: string };

/** The figures of one event. */
export type FlagEventStats = {
  /** How often it happened. */
  count: number;
  /** The sum of the events' values. */
  sum: number;
  /** The mean of the events' values. */
  mean: number;
  /** Subjects with at least one such event. */
  uniqueConverters: number;
};

/** The figures of one arm. */
export type FlagArmStats = {
  /** Exposures, counted once per user and day. */
  exposures: number;
  /** Users who were shown this arm. */
  uniqueUsers: number;
  /** By name: the events of subjects whose first exposure ever to the flag, in the event's environment, was to this arm. */
  events: Record<string, FlagEventStats>;
};

/** The figures of one arm, and apart from them those of users who did not get it by chance. */
export type FlagVariantStats = FlagArmStats & {
  /** Users who got this arm otherwise than by chance, such as by an override or a rule. Absent if there are none. */
  excluded?: FlagArmStats;
};

/** The statistics of one flag. */
export type FlagStats = {
  /** The id of the flag. */
  flagId: string;
  /** The time that the figures cover. */
  window: StatsWindow;
  /** The figures contain every event that was acknowledged before this time. ISO 8601. */
  asOf: string;
  /** How often the flag was evaluated. */
  evaluations: number;
  /** Users who were shown the flag in the window, by chance or otherwise. */
  uniqueUsers: number;
  /** Evaluations by reason. */
  byReason: Partial<Record<EvaluationReason, number>>;
  /**
   * By arm: the key of the variant, else `true` or `false`. Counts users who got the arm by chance. `""`: events of users
   * without an exposure.
   */
  byVariant: Record<string, FlagVariantStats>;
  /** One entry per hour. */
  series: { at: string; evaluations: number }[];
};

/** The figures of the last 24 hours that `include=stats` adds to each flag of a list. */
export type FlagSummary = { evaluations: number; uniqueUsers: number };

/** The statistics of all flags. */
export type FlagUsage = {
  /** The time that the figures cover. */
  window: StatsWindow;
  /** The figures contain every event that was acknowledged before this time. ISO 8601. */
  asOf: string;
  /** `stale`: flags that were not evaluated in the window, and are older than it. */
  flags: { total: number; enabled: number; stale: number };
  /** Evaluations of all flags. */
  evaluations: number;
  /** Events of all flags. */
  events: number;
  /** The flags that were evaluated most. */
  top: { flagId: string; flagKey: string; evaluations: number }[];
  /** One entry per hour. */
  series: { at: string; evaluations: number }[];
};
