/** Verifies a tenant's audit log: from its first entry to the head that the revision row keeps. */
import type { Where } from "@better-auth/core/db/adapter";
import { type AuditHead, type AuditVerdict, auditText } from "../../model/audit.ts";
import type { AuditRow } from "../../model/tables.ts";
import { type Adapter, findRows } from "../rows/queries.ts";
import { sha256 } from "../sha256.ts";
import { AUDIT_MODEL } from "./audit.ts";
import { joinParts } from "./audit-parts.ts";
import { type ChainEnd, readRevision, START } from "./revision.ts";

/** Entries per query. That of a deleted flag may hold more than 1 MB. */
const CHUNK = 50;

/** A head of the log that was kept outside the database. */
export type KeptHead = Pick<AuditHead, "revision" | "hash">;

/**
 * Checks that every revision has one entry, that each entry has the hash of its text and of the previous entry, and that
 * the last one is the head. With `kept`, also that the log still contains that head.
 */
export async function verifyAudit(adapter: Adapter, tenant: string, kept?: KeptHead): Promise<AuditVerdict> {
  let verified = START;
  for (;;) {
    const head = await readRevision(adapter, tenant);
    const broken = await findBreak(adapter, tenant, { from: verified, to: head, kept });
    if (broken !== undefined) return broken;
    verified = head;
    const beyond = await firstAfter(adapter, tenant, head.revision);
    if (beyond === undefined) break;
    // A write that was committed during the verification moved the head too.
    if ((await readRevision(adapter, tenant)).revision < beyond.revision) {
      return { ok: false, revision: beyond.revision, problem: "the entry is later than the head of the log" };
    }
  }
  if (kept !== undefined && kept.revision > verified.revision) {
    return { ok: false, revision: kept.revision, problem: "the log ends before the given head" };
  }
  return { ok: true, entries: verified.revision };
}

type Broken = Extract<AuditVerdict, { ok: false }>;

/** The first problem between two ends of the log. `from` is verified already. */
async function findBreak(
  adapter: Adapter,
  tenant: string,
  { from, to, kept }: { from: ChainEnd; to: ChainEnd; kept: KeptHead | undefined },
): Promise<Broken | undefined> {
  let { revision, auditHash } = from;
  while (revision < to.revision) {
    const upTo = Math.min(revision + CHUNK, to.revision);
    const rows = await entriesOf(adapter, tenant, [
      // An entry before the first revision must not exist, so the first query finds it.
      ...(revision === 0 ? [] : [{ field: "revision", operator: "gt" as const, value: revision }]),
      { field: "revision", operator: "lte", value: upTo },
    ]);
    for (const row of rows) {
      const expected = revision + 1;
      const problem = await problemOf(row, expected, auditHash, kept);
      if (problem !== undefined) return { ok: false, revision: expected, problem };
      revision = expected;
      auditHash = row.hash;
    }
    if (revision < upTo) return { ok: false, revision: revision + 1, problem: MISSING };
  }
  if (revision === to.revision && auditHash === to.auditHash) return undefined;
  return { ok: false, revision: to.revision, problem: "the last entry is not the head of the log" };
}

const MISSING = "the entry is missing";

async function problemOf(
  row: AuditRow,
  revision: number,
  prevHash: string,
  kept: KeptHead | undefined,
): Promise<string | undefined> {
  if (row.revision > revision) return MISSING;
  if (row.revision < revision) return "an entry with an earlier revision was added";
  if (row.prevHash !== prevHash) return "the entry does not continue the previous one";
  const { entryId: id, hash, ...fields } = row;
  if ((await sha256(auditText({ ...fields, id }))) !== hash) return "the entry has been changed";
  if (kept?.revision === revision && kept.hash !== hash) return "the entry is not the given head";
  return undefined;
}

async function firstAfter(adapter: Adapter, tenant: string, revision: number): Promise<AuditRow | undefined> {
  return (await entriesOf(adapter, tenant, [{ field: "revision", operator: "gt", value: revision }], 1))[0];
}

async function entriesOf(
  adapter: Adapter,
  tenant: string,
  also: Where[],
  limit?: number,
): Promise<AuditRow[]> {
  const sortBy = { field: "revision", direction: "asc" } as const;
  const options = { also, sortBy, ...(limit !== undefined && { limit }) };
  return joinParts(adapter, await findRows<AuditRow>(adapter, AUDIT_MODEL, { tenant }, options));
}
