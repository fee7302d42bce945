/** The audit entry: who changed what. Entries form a hash chain, so that a later edit of the log is detectable. */
import type { JsonValue } from "../engine/json.ts";

/** Who made a change: a signed-in user, a server key, or the application's own server code. */
export type Actor = { readonly type: "user" | "key" | "system"; readonly id: string };

export const SYSTEM: Actor = { type: "system", id: "system" };

type Verb = "created" | "updated" | "deleted";
/** What a change did, and to which kind of entity. */
export type AuditAction =
  | `flag.${Verb}`
  | `rule.${Verb}`
  | "override.created"
  | "override.deleted"
  | `segment.${Verb}`;

/** The origin of a change, as far as the request states it. */
export type Origin = {
  readonly ip?: string;
  readonly userAgent?: string;
  readonly requestId?: string;
  /** The admin in whose impersonated session the request was made. */
  readonly impersonatedBy?: string;
  /** Why, in the words of the caller. */
  readonly note?: string;
};

/** An audit entry as the API returns it. */
export type AuditEntry = {
  /** UUID v7. */
  readonly id: string;
  /** The revision of the tenant's flags that this change created. There is one entry per revision. */
  readonly revision: number;
  /** When the change was made. */
  readonly at: Date;
  /** What the change did. */
  readonly action: AuditAction;
  /** Who made the change. */
  readonly actor: Actor;
  /** The id of the admin who made the change while impersonating the actor. */
  readonly impersonatedBy?: string;
  /** The organization of the flag, where it has one. */
  readonly organizationId?: string;
  /** Empty for a segment, because a segment does not belong to a flag. */
  readonly flagId: string;
  /** The key of the flag at the time of the change. */
  readonly flagKey: string;
  /** The id of the flag, rule, override or segment that was changed. */
  readonly entityId: string;
  /** The entity before and after the change; null where it did not exist. */
  readonly before: JsonValue;
  /** The entity after the change; null for a deletion. */
  readonly after: JsonValue;
  /** The address of the caller. */
  readonly ip?: string;
  /** The user agent of the caller. */
  readonly userAgent?: string;
  /** The header `x-request-id`. */
  readonly requestId?: string;
  /** The same for all entries of one save, applied plan or revert. */
  readonly changeId: string;
  /** Why the change was made, in the words of who made it. */
  readonly note?: string;
  /** The hash of the previous entry; empty for the first. */
  readonly prevHash: string;
  /** The hash of this entry and of `prevHash`. */
  readonly hash: string;
};

/** The end of an audit log. It stands for all entries before it, because its hash covers theirs. */
export type AuditHead = {
  /** Absent for the log of flags that belong to no organization. */
  readonly organizationId?: string;
  /** The revision of the newest entry. */
  readonly revision: number;
  /** The `hash` of the entry with this revision. */
  readonly hash: string;
};

/** Whether an audit log is complete and unchanged. If not: the first revision with a problem. */
export type AuditVerdict =
  | { readonly ok: true; readonly entries: number; readonly problem?: undefined }
  | { readonly ok: false; readonly revision: number; readonly problem: string };

/** An entry as it is stored and hashed: flat, with the entities as JSON text. */
export interface AuditRecord {
  readonly id: string;
  readonly tenant: string;
  readonly revision: number;
  readonly at: string;
  readonly action: AuditAction;
  readonly actorType: Actor["type"];
  readonly actorId: string;
  readonly flagId: string;
  readonly flagKey: string;
  readonly entityId: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
  readonly impersonatedBy: string | null;
  readonly changeId: string;
  readonly note: string | null;
  readonly prevHash: string;
}

/** The text whose SHA-256 is the entry's hash: every field, in a fixed order, the previous hash first. */
export function auditText(entry: AuditRecord): string {
  return JSON.stringify([
    entry.prevHash,
    entry.id,
    entry.tenant,
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
    entry.ip,
    entry.userAgent,
    entry.requestId,
    entry.impersonatedBy,
    entry.changeId,
    entry.note,
  ]);
}
