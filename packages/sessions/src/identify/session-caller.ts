/** A signed-in user as applications see one, and the difference between two readings of it. */

import type { AuthInstance } from "./auth-instance.ts";

/** A row of the host's table, without the fields that Better Auth does not return. */
export type Row = Readonly<Record<string, unknown>>;

interface Inferring extends AuthInstance {
  readonly $Infer: { readonly Session: { readonly user: object; readonly session: object } };
}

/** The user's row, with the fields and types that `auth.$Infer` gives it, additional fields included. */
export type UserRow<Auth extends AuthInstance> = Auth extends Inferring
  ? Readonly<Auth["$Infer"]["Session"]["user"]>
  : Row;

/** The session's row without its token, with the fields and types that `auth.$Infer` gives it. */
export type SessionRow<Auth extends AuthInstance> = Auth extends Inferring
  ? Readonly<Omit<Auth["$Infer"]["Session"]["session"], "token">>
  : Row;

/** The caller of a request: a user with a session that holds. `Auth` is the type of the Better Auth instance. */
export interface SessionCaller<Auth extends AuthInstance = AuthInstance> {
  /** The id of the user. */
  readonly userId: string;
  /** The id of the session's row. Not a credential. */
  readonly sessionId: string;
  /** The user's role, as the admin plugin stores it: one, or several separated by commas. */
  readonly role?: string;
  /** The session's active organization, while the user is a member of it. */
  readonly organizationId?: string;
  /** The user's role in that organization. */
  readonly organizationRole?: string;
  /** The id of the admin who acts as this user. */
  readonly impersonatedBy?: string;
  /** When the session ends unless it is renewed, in ms since epoch. */
  readonly expiresAt: number;
  /** The user's row. */
  readonly user: UserRow<Auth>;
  /** The session's row, without its token. */
  readonly session: SessionRow<Auth>;
}

/** What may differ between two readings of a session. `user` and `session` are other fields of the rows. */
export type ChangedPart = "role" | "organizationId" | "organizationRole" | "user" | "session";

/** A change of a session that holds. */
export interface SessionChange<Auth extends AuthInstance = AuthInstance> {
  /** The parts that differ. */
  readonly changed: readonly ChangedPart[];
  /** The caller before the change. */
  readonly previous: SessionCaller<Auth>;
  /** The caller after it. */
  readonly current: SessionCaller<Auth>;
}

/** One reading of a session, with what finds its next change. */
export interface SessionReading {
  readonly caller: SessionCaller;
  readonly token: string;
  readonly memberId: string | undefined;
  /** The organization that was chosen, of which the user may not be a member yet. */
  readonly activeOrganizationId: string | undefined;
  /** Memberships in other organizations, which requests of this session have named. */
  readonly others?: readonly OtherMembership[] | undefined;
  /** The later `updatedAt` of the session's row and the user's row; undefined when a row has none. */
  readonly changedAtMs: number | undefined;
}

export interface Membership {
  readonly id: string;
  readonly role: string;
}

export interface OtherMembership extends Membership {
  readonly organizationId: string;
}

/** The membership is that in the active organization. */
export function toReading(
  session: Row,
  user: Row,
  membership: Membership | undefined,
  others?: readonly OtherMembership[],
): SessionReading {
  const { token, ...fields } = session;
  const role = textOf(user["role"]);
  const impersonatedBy = textOf(session["impersonatedBy"]);
  return {
    token: String(token),
    memberId: membership?.id,
    activeOrganizationId: textOf(session["activeOrganizationId"]),
    ...(others && { others }),
    changedAtMs: laterOf(msOf(session["updatedAt"]), msOf(user["updatedAt"])),
    caller: {
      userId: String(user["id"]),
      sessionId: String(session["id"]),
      ...(role !== undefined && { role }),
      ...(membership && {
        organizationId: String(session["activeOrganizationId"]),
        organizationRole: membership.role,
      }),
      ...(impersonatedBy !== undefined && { impersonatedBy }),
      expiresAt: msOf(session["expiresAt"]) ?? 0,
      user,
      session: fields,
    },
  };
}

/** Whether the user may not sign in: the admin plugin ends a banned user's sessions, other code may not. */
export function isBanned(user: Row, nowMs: number): boolean {
  if (user["banned"] !== true && user["banned"] !== 1) return false;
  const until = msOf(user["banExpires"]);
  return until === undefined || until > nowMs;
}

/** Fields that change with every use of a session. */
const TIMES: ReadonlySet<string> = new Set(["updatedAt", "expiresAt"]);
const USER_PARTS: ReadonlySet<string> = new Set(["role"]);
const SESSION_PARTS: ReadonlySet<string> = new Set(["activeOrganizationId"]);

/** The parts that differ. A renewed session is not a change. */
export function changedParts(previous: SessionCaller, current: SessionCaller): ChangedPart[] {
  const parts: ChangedPart[] = (["role", "organizationId", "organizationRole"] as const).filter(
    (part) => previous[part] !== current[part],
  );
  if (hasOtherFields(previous.user, current.user, USER_PARTS)) parts.push("user");
  if (hasOtherFields(previous.session, current.session, SESSION_PARTS)) parts.push("session");
  return parts;
}

function hasOtherFields(previous: Row, current: Row, named: ReadonlySet<string>): boolean {
  const fields = new Set([...Object.keys(previous), ...Object.keys(current)]);
  for (const field of fields) {
    if (TIMES.has(field) || named.has(field)) continue;
    if (!isSame(previous[field] ?? null, current[field] ?? null)) return true;
  }
  return false;
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
  return typeof one === "object" && JSON.stringify(one) === JSON.stringify(other);
}

/** Whether these rows, as they are stored, certainly give the same reading. */
export function isUnchanged(
  { caller, token, memberId, others: known }: SessionReading,
  session: Row,
  user: Row,
  membership: Membership | undefined,
  others?: readonly OtherMembership[],
): boolean {
  return (
    token === session["token"] &&
    memberId === membership?.id &&
    caller.organizationRole === membership?.role &&
    isSame(known, others) &&
    isSameRow(session, caller.session) &&
    isSameRow(user, caller.user)
  );
}

/** A reading has the fields of its row without the token, and without those that Better Auth does not return. */
function isSameRow(row: Row, read: Row): boolean {
  for (const field in read) if (!isSame(read[field], row[field])) return false;
  for (const field in row) if (field !== "token" && !(field in read) && row[field] != null) return false;
  return true;
}

function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other);
}

/** Undefined for what is no time. */
export function msOf(value: unknown): number | undefined {
  const isTime = value instanceof Date || typeof value === "string" || typeof value === "number";
  const ms = isTime ? new Date(value).getTime() : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
