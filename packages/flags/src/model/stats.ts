/** Statistics of a flag and of all flags, as the API returns them. */
import type { EvaluationReason } from "../engine/definition.ts";

/** `start` inclusive, `end` exclusive. ISO 8601. */
export type StatsWindow = { readonly start: string; readonly end: string };

export type FlagVariantStats = {
  exposures: number;
  uniqueUsers: number;
  events: Record<string, { count: number; sum: number; mean: number }>;
};

export type FlagStats = {
  flagId: string;
  window: StatsWindow;
  evaluations: number;
  uniqueUsers: number;
  byReason: Partial<Record<EvaluationReason, number>>;
  /** By variant key; `""` for evaluations and events without a variant. */
  byVariant: Record<string, FlagVariantStats>;
  /** One entry per hour. */
  series: { at: string; evaluations: number }[];
};

/** The figures of the last 24 hours that `include=stats` adds to each flag of a list. */
export type FlagSummary = { evaluations: number; uniqueUsers: number };

export type FlagUsage = {
  window: StatsWindow;
  flags: { total: number; enabled: number; stale: number };
  evaluations: number;
  events: number;
  top: { flagId: string; flagKey: string; evaluations: number }[];
  series: { at: string; evaluations: number }[];
};
