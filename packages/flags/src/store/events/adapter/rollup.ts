/** Adds to the hourly roll-ups through the adapter, and keeps every sum within the safe integers of JavaScript. */
import type { EvaluationCountRow, EventCountRow, EventRow } from "../../../model/event-rows.ts";
import type { Adapter } from "../../rows/queries.ts";
import { sha256 } from "../../sha256.ts";
import type { EvaluationCount, FigureWindow } from "../event-log.ts";
import { HOUR_MS, hourOf, hourStart } from "../hour.ts";

export const EVENT_COUNTS = "featureFlagEventCount";
export const EVALUATION_COUNTS = "featureFlagEvaluationCount";

/** Counts are kept in millionths. */
export const MILLION: number = 1_000_000;

/** The largest stored value. SQLite's drivers cannot read more than 2⁵³. */
const LIMIT = 8e15;
/** The largest single increment, so that a value at `LIMIT` stays readable until it is clamped. */
const MAX_STEP = 1e15;

/** The largest weight of a sampled event. The sampling hash has 32 bits and cannot represent lower rates. */
const MAX_WEIGHT = 2 ** 32;

export const REASON_FIELDS: {
  readonly rule_match: "ruleMatch";
  readonly override: "override";
  readonly percentage_rollout: "percentageRollout";
  readonly default: "byDefault";
  readonly disabled: "disabled";
} = {
  rule_match: "ruleMatch",
  override: "override",
  percentage_rollout: "percentageRollout",
  default: "byDefault",
  disabled: "disabled",
};

/** The id prefix of an hour. Digits only, which every collation sorts the same way. */
function hourPrefix(iso: string): string {
  return iso.replace(/\D/g, "").slice(0, 10);
}

/** The hour in an id, ISO 8601. */
export function hourOfRollup(rollupId: string): string {
  const [, year, month, day, hour] = /^(\d{4})(\d\d)(\d\d)(\d\d)/.exec(rollupId) ?? [];
  return `${year}-${month}-${day}T${hour}:00:00.000Z`;
}

/** The id range of the hours that overlap the window; the end is exclusive. */
export function rollupRange({ startMs, endMs }: FigureWindow): readonly [string, string] {
  const end = hourStart(endMs + HOUR_MS - 1);
  return [hourPrefix(hourOf(startMs)), hourPrefix(new Date(end).toISOString())];
}

async function rollupId(hour: string, parts: readonly string[]): Promise<string> {
  return `${hourPrefix(hour)}${(await sha256(JSON.stringify(parts))).slice(0, 40)}`;
}

type Figures = Record<string, number>;

interface Rollup {
  readonly hour: string;
  /** What the roll-up is identified by, in a fixed order. */
  readonly columns: Readonly<Record<string, string>>;
  readonly figures: Figures;
}

/** Adds events to the roll-ups of their hours. Sampled events are weighted by their sample rate. */
export async function addEvents(tx: Adapter, events: readonly EventRow[]): Promise<void> {
  const rollups = new Map<string, Rollup>();
  for (const { tenant, flagId, event, at, sampleRate } of events) {
    const hour = hourOf(Date.parse(at));
    const columns = { tenant, flagId: flagId ?? "", event };
    const key = JSON.stringify([hour, ...Object.values(columns)]);
    const { figures } = rollupOf(rollups, key, () => ({ hour, columns, figures: { count: 0 } }));
    add(figures, "count", weightOf(Number(sampleRate)) * MILLION);
  }
  await increaseAll<EventCountRow>(tx, EVENT_COUNTS, rollups);
}

export async function addEvaluations(tx: Adapter, counts: readonly EvaluationCount[]): Promise<void> {
  const rollups = new Map<string, Rollup>();
  for (const { tenant, flagId, hour, reason, count } of counts) {
    // A flag that does not exist has no roll-up.
    if (reason === "not_found") continue;
    const key = JSON.stringify([hour, tenant, flagId]);
    const { figures } = rollupOf(rollups, key, () => ({
      hour,
      columns: { tenant, flagId },
      figures: { ruleMatch: 0, override: 0, percentageRollout: 0, byDefault: 0, disabled: 0 },
    }));
    add(figures, REASON_FIELDS[reason], count);
  }
  await increaseAll<EvaluationCountRow>(tx, EVALUATION_COUNTS, rollups);
}

/** The number of events that a sampled event counts as. */
export function weightOf(sampleRate: number): number {
  return Math.min(1 / sampleRate, MAX_WEIGHT);
}

function rollupOf(rollups: Map<string, Rollup>, key: string, create: () => Rollup): Rollup {
  const existing = rollups.get(key);
  if (existing !== undefined) return existing;
  const rollup = create();
  rollups.set(key, rollup);
  return rollup;
}

function add(figures: Figures, field: string, amount: number): void {
  figures[field] = clamp((figures[field] ?? 0) + Math.round(amount), MAX_STEP);
}

function clamp(value: number, limit: number): number {
  return Math.min(Math.max(value, -limit), limit);
}

/** Updates in the order of the ids, so that two processes with the same roll-ups do not deadlock. */
async function increaseAll<Row extends EventCountRow | EvaluationCountRow>(
  tx: Adapter,
  model: string,
  rollups: ReadonlyMap<string, Rollup>,
): Promise<void> {
  const named = await Promise.all(
    Array.from(rollups.values(), async ({ hour, columns, figures }) => ({
      id: await rollupId(hour, Object.values(columns)),
      columns,
      figures,
    })),
  );
  const sorted = named.sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const { id, columns, figures } of sorted) {
    const where = [{ field: "rollupId", value: id }];
    const row = await tx.incrementOne<Figures>({ model, where, increment: figures });
    if (row === null) {
      const data = { rollupId: id, ...columns, ...figures };
      await tx.create<Record<string, unknown>>({ model, data });
      continue;
    }
    const beyond = Object.keys(figures).filter((field) => Math.abs(Number(row[field])) > LIMIT);
    if (beyond.length === 0) continue;
    const update = Object.fromEntries(beyond.map((field) => [field, clamp(Number(row[field]), LIMIT)]));
    await tx.update<Row>({ model, where, update });
  }
}
