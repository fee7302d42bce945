/** The audit log: append only, each entry hashed together with the one before it. */
import type { DBTransactionAdapter } from "@better-auth/core/db/adapter";
import { type AuditEntry, auditText } from "../model/audit.ts";
import type { AuditRow } from "../model/tables.ts";

/** Appends an entry and gives its hash, which the next entry carries as `prevHash`. */
export async function appendAudit(tx: DBTransactionAdapter, entry: AuditEntry): Promise<string> {
  const hash = await sha256(auditText(entry));
  const { id: entryId, ...fields } = entry;
  await tx.create<AuditRow>({ model: "featureFlagAudit", data: { ...fields, entryId, hash } });
  return hash;
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
