/** The audit log: append only, each entry hashed together with the one before it. */
import type { Where } from "@better-auth/core/db/adapter";
import type { JsonValue } from "../engine/json.ts";
import { type AuditAction, type AuditEntry, type AuditRecord, auditText } from "../model/audit.ts";
import type { AuditQuery } from "../model/page.ts";
import type { AuditRow, RevisionRow } from "../model/tables.ts";
import { decodeJson } from "./codec.ts";
import { type Adapter, findRow, findRows, isExactly, type Match, where } from "./rows.ts";
import { sha256 } from "./sha256.ts";
import type { AuditVerdict, TenantFilter } from "./store.ts";

const model = "featureFlagAudit";

/** Entries read at a time when a chain is walked: each may hold two entities of the largest size. */
const CHUNK = 200;

/** Appends an entry and gives its hash, which the next entry carries as `prevHash`. */
export async function appendAudit(tx: Adapter, record: AuditRecord): Promise<string> {
  const hash = await sha256(auditText(record));
  const { id: entryId, ...fields } = record;
  await tx.create<AuditRow>({ model, data: { ...fields, entryId, hash } });
  return hash;
}

const VERBS = { create: "created", update: "updated", delete: "deleted" } as const;
const ENTITIES = ["flag", "rule", "override", "segment"] as const;

/** Newest first. */
export async function listAudit(
  adapter: Adapter,
  tenants: TenantFilter,
  { flagId, userId, action, start, end, limit, offset }: AuditQuery,
): Promise<AuditEntry[]> {
  // Evaluations are counted elsewhere; this log knows none.
  if (action === "evaluate") return [];
  const match: Match = {
    ...(tenants !== "all" && { tenant: tenants.tenant }),
    ...(flagId !== undefined && { flagId }),
    ...(userId !== undefined && { actorId: userId }),
  };
  if (Object.values(match).some((value) => value.includes("\0"))) return [];
  const also: Where[] = [];
  if (action !== undefined) {
    const value = ENTITIES.map((entity) => `${entity}.${VERBS[action]}`);
    also.push({ field: "action", operator: "in", value });
  }
  if (start !== undefined) also.push({ field: "at", operator: "gte", value: new Date(start).toISOString() });
  if (end !== undefined) also.push({ field: "at", operator: "lt", value: new Date(end).toISOString() });
  const rows = await adapter.findMany<AuditRow>({
    model,
    where: [...where(match), ...also],
    // Within a tenant the revision is the order of the commits; across tenants there is only time.
    sortBy: { field: tenants === "all" ? "entryId" : "revision", direction: "desc" },
    limit,
    offset,
  });
  return rows.filter((row) => isExactly(row, match)).map(toEntry);
}

/** A change as a reader follows it: what it left, and its place in the chain. */
export type ChangeRow = Pick<
  AuditRow,
  "revision" | "action" | "flagId" | "entityId" | "after" | "prevHash" | "hash"
>;

/** What changed after a revision, oldest first. */
export async function* readChanges(
  adapter: Adapter,
  tenant: string,
  { after, upTo }: { after: number; upTo: number },
): AsyncGenerator<ChangeRow> {
  for (let start = after; start < upTo; start += CHUNK) {
    const also: Where[] = [
      { field: "revision", operator: "gt", value: start },
      { field: "revision", operator: "lte", value: Math.min(start + CHUNK, upTo) },
    ];
    const select = ["tenant", "revision", "action", "flagId", "entityId", "after", "prevHash", "hash"];
    const sortBy = { field: "revision", direction: "asc" } as const;
    yield* await findRows<AuditRow>(adapter, model, { tenant }, { also, select, sortBy, limit: CHUNK });
  }
}

/** Every entry there must be, in order, each with the hash of its own text and of the one before, up to the chain's end. */
export async function verifyAudit(adapter: Adapter, tenant: string): Promise<AuditVerdict> {
  const end = await findRow<RevisionRow>(adapter, "featureFlagRevision", { tenant });
  const last = end?.revision ?? 0;
  let prevHash = "";
  for (let revision = 0; revision < last; revision += CHUNK) {
    const upTo = Math.min(revision + CHUNK, last);
    const rows = await findRows<AuditRow>(
      adapter,
      model,
      { tenant },
      {
        also: [
          { field: "revision", operator: "gt", value: revision },
          { field: "revision", operator: "lte", value: upTo },
        ],
        sortBy: { field: "revision", direction: "asc" },
      },
    );
    for (let expected = revision + 1; expected <= upTo; expected++) {
      const row = rows[expected - revision - 1];
      const problem = await problemOf(row, expected, prevHash);
      if (row === undefined || problem !== undefined) {
        return { ok: false, revision: expected, problem: problem ?? MISSING };
      }
      prevHash = row.hash;
    }
  }
  if (prevHash !== (end?.auditHash ?? "")) {
    return { ok: false, revision: last, problem: "the chain does not end where the last change left it" };
  }
  return { ok: true, entries: last };
}

const MISSING = "the entry is missing";

async function problemOf(
  row: AuditRow | undefined,
  revision: number,
  prevHash: string,
): Promise<string | undefined> {
  if (row?.revision !== revision) return MISSING;
  if (row.prevHash !== prevHash) return "the entry does not follow the one before it";
  const { entryId: id, hash, ...fields } = row;
  if ((await sha256(auditText({ ...fields, id }))) !== hash) return "the entry has been changed";
  return undefined;
}

function toEntry(row: AuditRow): AuditEntry {
  const { entryId, tenant, actorType, actorId, before, after, ip, userAgent, requestId } = row;
  return {
    id: entryId,
    revision: row.revision,
    at: row.at,
    action: row.action as AuditAction,
    actor: { type: actorType, id: actorId },
    ...(tenant !== "" && { organizationId: tenant }),
    flagId: row.flagId,
    flagKey: row.flagKey,
    entityId: row.entityId,
    before: decodeEntity(before),
    after: decodeEntity(after),
    ...(ip !== null && { ip }),
    ...(userAgent !== null && { userAgent }),
    ...(requestId !== null && { requestId }),
    prevHash: row.prevHash,
    hash: row.hash,
  };
}

function decodeEntity(text: string | null): JsonValue {
  return text === null ? null : decodeJson(text);
}
