/** A caller whose credentials Better Auth has verified, with what was found out since. */
import { sessionPrint } from "../changes/session-print.ts";
import type { LiveSession } from "../watched/live-session.ts";
import type { Principal } from "./caller.ts";
import type { SessionReading } from "./session-caller.ts";

/** A membership that can be checked again by the id of its row. */
export interface CachedMembership {
  readonly id: string;
  readonly role: string;
}

export interface PrincipalFacts {
  readonly caller: Principal;
  /** The token of the session or the id of the API key that was verified. */
  readonly credentialId: string;
  /** Absent for API keys, and for sessions whose rows have no times of their last change. */
  readonly changedAtMs?: number | undefined;
  /** Wall-clock time from which Better Auth must see the credentials again. */
  readonly validUntilMs: number;
}

export class CachedPrincipal {
  readonly cacheKey: string;
  readonly credentialId: string;
  /** By which changes that another process announces are found. */
  readonly credentialPrint: string;
  readonly caller: Principal;
  readonly validUntilMs: number;
  /** When the verification began, by the monotonic clock. */
  readonly verifiedAtMs: number;
  /** The later `updatedAt` of the session's row and the user's row. Undefined if changes of the rows cannot be found. */
  readonly changedAtMs: number | undefined;
  /** By organization; undefined until one is known. An organization that is missing here may still have the user as a member. */
  memberships: Map<string, CachedMembership> | undefined;
  /** The session, from the first request on that used this entry. */
  session: LiveSession | undefined;
  /** The reading of the session that says what was verified. */
  #confirming: SessionReading | undefined;
  usedAtMs: number;
  isRemoved = false;

  constructor(cacheKey: string, facts: PrincipalFacts, verifiedAtMs: number) {
    const { caller, credentialId, changedAtMs, validUntilMs } = facts;
    this.cacheKey = cacheKey;
    this.credentialId = credentialId;
    this.credentialPrint = sessionPrint(credentialId);
    this.caller = caller;
    this.changedAtMs = changedAtMs;
    this.validUntilMs = validUntilMs;
    this.verifiedAtMs = verifiedAtMs;
    this.usedAtMs = verifiedAtMs;
  }

  /** The id of the session's row. Undefined where a change of the session would not be found. */
  get sessionId(): string | undefined {
    if (this.changedAtMs === undefined || this.caller.kind !== "user") return undefined;
    return this.caller.user.sessionId;
  }

  addMembership(organizationId: string, membership: CachedMembership): void {
    this.memberships ??= new Map();
    this.memberships.set(organizationId, membership);
  }

  hasMembership(memberIds: ReadonlySet<string>): boolean {
    if (this.memberships === undefined || memberIds.size === 0) return false;
    return [...this.memberships.values()].some(({ id }) => memberIds.has(id));
  }

  /**
   * When what was verified was last known to hold, by the monotonic clock. Undefined when the session's rows say something
   * else.
   */
  get confirmedAtMs(): number | undefined {
    const { session, verifiedAtMs } = this;
    if (session === undefined || session.changedAtMs !== undefined) return verifiedAtMs;
    const { reading, comparedAtMs } = session;
    if (reading === undefined || comparedAtMs < verifiedAtMs) return verifiedAtMs;
    if (reading !== this.#confirming) {
      if (!this.#agrees(reading)) return undefined;
      this.#confirming = reading;
    }
    return comparedAtMs;
  }

  #agrees(reading: SessionReading): boolean {
    const { caller, token, memberId, changedAtMs, others = [], activeOrganizationId: active } = reading;
    if (this.caller.kind !== "user" || token !== this.credentialId || changedAtMs !== this.changedAtMs)
      return false;
    const { email, role, activeOrganizationId, impersonatedBy } = this.caller.user;
    return (
      caller.user["email"] === email &&
      (caller.user["role"] ?? undefined) === role &&
      active === activeOrganizationId &&
      caller.impersonatedBy === impersonatedBy &&
      [...(this.memberships ?? [])].every(([organizationId, { id, role }]) =>
        organizationId === active
          ? memberId === id && caller.organizationRole === role
          : // One that was added after the reading began is in the next reading.
            this.session?.organizations?.includes(organizationId) !== true ||
            others.some((other) => other.id === id && other.role === role),
      )
    );
  }
}
