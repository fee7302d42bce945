/** Creates, changes and deletes flags with a token in every change, and compares the tables with the audit log. */
import type { AuditEntry } from "@halyard/flags";
import { verifyFeatureFlagAudit } from "@halyard/flags";
import type { FlagRow, OverrideRow, RuleRow } from "../src/model/tables.ts";
import { toFlag } from "../src/store/rows/flags.ts";
import { toOverride } from "../src/store/rows/overrides.ts";
import { toRule } from "../src/store/rows/rules.ts";
import type { Random } from "./engine/random.ts";
import type { Host } from "./host.ts";

/** The operations of a flag's life. They reject when the change was not acknowledged. */
export interface FlagApi {
  /** Returns the id. */
  createFlag(key: string): Promise<string>;
  describeFlag(id: string, description: string): Promise<unknown>;
  createRule(flagId: string, name: string): Promise<unknown>;
  createOverride(flagId: string, reason: string): Promise<unknown>;
  deleteFlag(id: string): Promise<unknown>;
}

/** Makes one change. Returns undefined if it was not acknowledged. */
export type Attempt = <Result>(token: string, change: () => Promise<Result>) => Promise<Result | undefined>;

/** One flag from its creation to its deletion, which some flags do not have. `name` must be unique. */
export async function liveFlag(
  api: FlagApi,
  attempt: Attempt,
  { name, random }: { readonly name: string; readonly random: Random },
): Promise<void> {
  const id = await attempt(name, () => api.createFlag(name));
  if (id === undefined) return;
  await attempt(`${name}.1`, () => api.describeFlag(id, `${name}.1`));
  await attempt(`${name}.2`, () => api.createRule(id, `${name}.2`));
  await attempt(`${name}.3`, () => api.createOverride(id, `${name}.3`));
  await attempt(`${name}.4`, () => api.describeFlag(id, `${name}.4`));
  if (random.chance(0.5)) await attempt(`${name}.end`, () => api.deleteFlag(id));
}

/** The changes that were made, by token: true if the change was acknowledged. */
export type History = ReadonlyMap<string, boolean>;

/** The differences between history, audit log and tables. All lists are empty if every promise was kept. */
export interface Findings {
  readonly attempted: number;
  readonly acknowledged: number;
  /** Changes without acknowledgement that were committed nevertheless. */
  readonly committedSilently: number;
  readonly acknowledgedAndLost: string[];
  readonly committedTwice: string[];
  readonly neverAttempted: string[];
  /** Rows that are not as the last entry about them says, and entries whose rows are missing. */
  readonly rowsUnlikeLog: string[];
  readonly verdict: string;
}

export const NOTHING_LOST = {
  acknowledgedAndLost: [],
  committedTwice: [],
  neverAttempted: [],
  rowsUnlikeLog: [],
  verdict: "complete",
} as const;

export async function compare(host: Host, history: History): Promise<Findings> {
  const entries = await readLog(host);
  const committed = new Map<string, number>();
  for (const entry of entries) {
    const token = tokenOf(entry);
    committed.set(token, (committed.get(token) ?? 0) + 1);
  }
  const verdict = await verifyFeatureFlagAudit(host.auth);
  const acknowledged = [...history].flatMap(([token, isAcknowledged]) => (isAcknowledged ? [token] : []));
  return {
    attempted: history.size,
    acknowledged: acknowledged.length,
    committedSilently: [...committed.keys()].filter((token) => history.get(token) === false).length,
    acknowledgedAndLost: acknowledged.filter((token) => !committed.has(token)),
    committedTwice: [...committed].flatMap(([token, times]) => (times > 1 ? [token] : [])),
    neverAttempted: [...committed.keys()].filter((token) => !history.has(token)),
    rowsUnlikeLog: await findUnlike(host, entries),
    verdict: verdict.ok && verdict.entries === entries.length ? "complete" : JSON.stringify(verdict),
  };
}

/** Oldest first. */
async function readLog({ auth }: Host): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for (;;) {
    const query = { limit: 200, offset: all.length };
    const { entries } = await auth.api.listFeatureFlagAuditEntries({ query });
    all.push(...entries);
    if (entries.length < query.limit) return all.reverse();
  }
}

/** The token of the change that an entry is about. */
function tokenOf({ action, flagKey, after }: AuditEntry): string {
  if (action === "flag.created") return flagKey;
  if (action === "flag.deleted") return `${flagKey}.end`;
  const fields = after as { description?: string; name?: string; reason?: string };
  return (
    (action === "flag.updated"
      ? fields.description
      : action === "rule.created"
        ? fields.name
        : fields.reason) ?? `${action} without a token`
  );
}

/** Applies the log to nothing, and compares the result with the rows. */
async function findUnlike({ adapter }: Host, entries: readonly AuditEntry[]): Promise<string[]> {
  const expected = new Map<string, { flagId: string; text: string }>();
  for (const { action, flagId, entityId, after } of entries) {
    if (action !== "flag.deleted") expected.set(entityId, { flagId, text: JSON.stringify(after) });
    else for (const [id, entity] of expected) if (entity.flagId === flagId) expected.delete(id);
  }
  const limit = 1_000_000;
  const flags = await adapter.findMany<FlagRow>({ model: "featureFlag", limit });
  const rules = await adapter.findMany<RuleRow>({ model: "featureFlagRule", limit });
  const overrides = await adapter.findMany<OverrideRow>({ model: "featureFlagOverride", limit });
  const stored = [...flags.map(toFlag), ...rules.map(toRule), ...overrides.map(toOverride)];
  const actual = new Map(stored.map((entity) => [entity.id, JSON.stringify(entity)]));
  return [...new Set([...expected.keys(), ...actual.keys()])].filter(
    (id) => expected.get(id)?.text !== actual.get(id),
  );
}
