/** Appends and lists audit entries. The hash of each entry covers the hash of the previous one. */
import type { Where } from "@better-auth/core/db/adapter";
import type { JsonValue } from "../../engine/json.ts";
import { type AuditAction, type AuditEntry, type AuditRecord, auditText } from "../../model/audit.ts";
import type { AuditQuery } from "../../model/page.ts";
import type { AuditRow } from "../../model/tables.ts";
import type { TenantFilter } from "../flag-store.ts";
import { decodeJson } from "../rows/codec.ts";
import { type Adapter, findRows, isExactly, type Match, where } from "../rows/queries.ts";
import { sha256 } from "../sha256.ts";
import { insertParts, joinParts, splitText } from "./audit-parts.ts";

export const AUDIT_MODEL = "featureFlagAudit";
const model = AUDIT_MODEL;

/** Entries per query. Each may hold two entities of the largest size. */
const CHUNK = 200;

/** Appends an entry and returns its hash, the `prevHash` of the next entry. */
export async function appendAudit(tx: Adapter, record: AuditRecord): Promise<string> {
  const hash = await sha256(auditText(record));
  const { id: entryId, ...fields } = record;
  const [before = null, ...more] = record.before === null ? [] : splitText(record.before);
  await tx.create<AuditRow>({ model, data: { ...fields, before, entryId, hash } });
  await insertParts(tx, entryId, more);
  return hash;
}

const VERBS = { create: "created", update: "updated", delete: "deleted" } as const;
const ENTITIES = ["flag", "rule", "override", "segment"] as const;

/** Newest first. */
export async function listAudit(
  adapter: Adapter,
  tenants: TenantFilter,
  { flagId, userId, changeId, action, start, end, limit, offset }: AuditQuery,
): Promise<AuditEntry[]> {
  // Evaluations are not in the audit log; the roll-ups count them.
  if (action === "evaluate") return [];
  const match: Match = {
    ...(tenants !== "all" && { tenant: tenants.tenant }),
    ...(flagId !== undefined && { flagId }),
    ...(userId !== undefined && { actorId: userId }),
    ...(changeId !== undefined && { changeId }),
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
    // The revision is the commit order within a tenant. Across tenants only the time can be compared.
    sortBy: { field: tenants === "all" ? "entryId" : "revision", direction: "desc" },
    limit,
    offset,
  });
  const found = await joinParts(
    adapter,
    rows.filter((row) => isExactly(row, match)),
  );
  return found.map(toEntry);
}

/** Entries of a tenant after a revision, oldest first. */
export async function readEntries(
  adapter: Adapter,
  tenant: string,
  { after, limit }: { after: number; limit: number },
): Promise<AuditEntry[]> {
  const also: Where[] = [{ field: "revision", operator: "gt", value: after }];
  const sortBy = { field: "revision", direction: "asc" } as const;
  const rows = await findRows<AuditRow>(adapter, model, { tenant }, { also, sortBy, limit });
  return (await joinParts(adapter, rows)).map(toEntry);
}

/** The tenant and the actions of an entry, or of all entries of a change. */
export async function findEntries(
  adapter: Adapter,
  of: { readonly id: string } | { readonly changeId: string },
): Promise<{ readonly tenant: string; readonly actions: readonly AuditAction[] } | undefined> {
  const match: Match = "id" in of ? { entryId: of.id } : { changeId: of.changeId };
  const select = ["entryId", "changeId", "tenant", "action"];
  const rows = await findRows<AuditRow>(adapter, model, match, { select });
  const [first] = rows;
  return first && { tenant: first.tenant, actions: [...new Set(rows.map(({ action }) => action))] };
}

/** An audit entry as a snapshot applies it. */
export type ChangeRow = Pick<
  AuditRow,
  "revision" | "action" | "flagId" | "entityId" | "after" | "prevHash" | "hash"
>;

/** The changes after a revision, oldest first. */
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

function toEntry(row: AuditRow): AuditEntry {
  const { entryId, tenant, actorType, actorId, impersonatedBy, before, after } = row;
  const { ip, userAgent, requestId, changeId, note } = row;
  return {
    id: entryId,
    revision: row.revision,
    at: new Date(row.at),
    action: row.action as AuditAction,
    actor: { type: actorType, id: actorId },
    ...(impersonatedBy !== null && { impersonatedBy }),
    ...(tenant !== "" && { organizationId: tenant }),
    flagId: row.flagId,
    flagKey: row.flagKey,
    entityId: row.entityId,
    before: decodeEntity(before),
    after: decodeEntity(after),
    ...(ip !== null && { ip }),
    ...(userAgent !== null && { userAgent }),
    ...(requestId !== null && { requestId }),
    changeId,
    ...(note !== null && { note }),
    prevHash: row.prevHash,
    hash: row.hash,
  };
}

/** A text that was damaged after its entry was written is shown as it is. */
function decodeEntity(text: string | null): JsonValue {
  if (text === null) return null;
  try {
    return decodeJson(text);
  } catch {
    return text;
  }
}
