/** Reads the detail of a step, which the server sends as JSON. */
import type { JsonValue } from "../api/types.ts";

export interface ConditionTrace {
  readonly attribute: string;
  readonly operator: string;
  readonly expected: JsonValue;
  readonly actual?: JsonValue;
  readonly origin?: string;
  readonly holds: boolean;
  readonly note?: string;
}
export interface SegmentTrace {
  readonly segment: string;
  readonly holds: boolean;
  readonly conditions?: GroupTrace;
}
export interface GroupTrace {
  readonly operator: "AND" | "OR";
  readonly holds: boolean;
  readonly conditions: readonly Trace[];
  readonly not?: GroupTrace;
}
export type Trace = GroupTrace | ConditionTrace | SegmentTrace;

export interface Bucket {
  readonly input: string;
  readonly hash: number;
  /** 0 to 100. */
  readonly bucket: number;
  readonly bucketBy: string;
  /** Of a rollout or of a rule's share. */
  readonly percentage?: number;
  /** Of variants. */
  readonly shares?: readonly { readonly variant: string; readonly weight: number }[];
}

export function isGroupTrace(trace: Trace): trace is GroupTrace {
  return !("segment" in trace) && !("attribute" in trace);
}

export function isSegmentTrace(trace: Trace): trace is SegmentTrace {
  return "segment" in trace;
}

export function bucketOf(detail: Readonly<Record<string, unknown>>): Bucket | undefined {
  return typeof detail["bucket"] === "number" ? (detail as unknown as Bucket) : undefined;
}

export function conditionsOf(detail: Readonly<Record<string, unknown>>): GroupTrace | undefined {
  const conditions = detail["conditions"];
  return typeof conditions === "object" && conditions !== null ? (conditions as GroupTrace) : undefined;
}
