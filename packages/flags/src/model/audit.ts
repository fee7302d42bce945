/** The audit entry: who changed what, chained by hash so that a later edit of the log shows. */

/** Who made a change: a signed-in user, or the application's own server code. */
export type Actor = { readonly type: "user"; readonly id: string } | { readonly type: "system" };

export type AuditAction = "flag.created";

export interface AuditEntry {
  /** UUID v7. */
  readonly id: string;
  readonly organizationId: string;
  /** The revision this change made; one entry per revision. */
  readonly revision: number;
  /** ISO 8601, UTC. Kept as text because it is part of what is hashed. */
  readonly at: string;
  readonly action: AuditAction;
  readonly actorType: Actor["type"];
  /** The user's id; `system` for server code. */
  readonly actorId: string;
  readonly flagId: string;
  readonly flagKey: string;
  readonly entityId: string;
  /** The entity as JSON text before and after the change; null when it did not exist. */
  readonly before: string | null;
  readonly after: string | null;
  /** The hash of the entry before, empty for the first. */
  readonly prevHash: string;
}

/** The text whose SHA-256 is the entry's hash: every field, in a fixed order, the previous hash first. */
export function auditText(entry: AuditEntry): string {
  return JSON.stringify([
    entry.prevHash,
    entry.id,
    entry.organizationId,
    entry.revision,
    entry.at,
    entry.action,
    entry.actorType,
    entry.actorId,
    entry.flagId,
    entry.flagKey,
    entry.entityId,
    entry.before,
    entry.after,
  ]);
}
