/** A caller whose credentials Better Auth has verified, with what was found out since. */
import { sessionPrint } from "../changes/session-print.ts";
import type { Principal } from "./caller.ts";
import type { SessionRows } from "./session.ts";

/** A membership that can be checked again by the id of its row. */
export interface CachedMembership {
  readonly id: string;
  readonly role: string;
}

export interface PrincipalFacts {
  readonly caller: Principal;
  /** The token of the session or the id of the API key that was verified. */
  readonly credentialId: string;
  /** Absent for API keys, and for sessions whose changes the database does not show. */
  readonly rows?: SessionRows | undefined;
  /** Wall-clock time from which Better Auth must see the credentials again. */
  readonly validUntilMs: number;
}

/** `unclear`: the owner's id exists as a user and as an organization, or as neither. */
export type KeyOwner = "user" | "organization" | "unclear";

/** The time a verification began, by both clocks. */
export interface CheckTime {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export class CachedPrincipal {
  readonly cacheKey: string;
  readonly credentialId: string;
  /** By which changes that another process announces are found. */
  readonly credentialPrint: string;
  readonly caller: Principal;
  readonly rows: SessionRows | undefined;
  readonly validUntilMs: number;
  /** By organization; undefined until one is known. An organization that is missing here may still have the user as a member. */
  memberships: Map<string, CachedMembership> | undefined;
  keyOwner: KeyOwner | undefined;
  /** Shared by all principals of its group. */
  confirmedAt: CheckTime;
  /** The group it is confirmed with, if any. */
  group: object | undefined;
  /** When the values of its rows were last compared, by the monotonic clock. */
  comparedAtMs: number;
  usedAtMs: number;
  isRemoved = false;

  constructor(cacheKey: string, facts: PrincipalFacts, confirmedAt: CheckTime) {
    const { caller, credentialId, rows, validUntilMs } = facts;
    this.cacheKey = cacheKey;
    this.credentialId = credentialId;
    this.credentialPrint = sessionPrint(credentialId);
    this.caller = caller;
    this.rows = rows;
    this.validUntilMs = validUntilMs;
    this.confirmedAt = confirmedAt;
    this.comparedAtMs = confirmedAt.monotonicMs;
    this.usedAtMs = confirmedAt.monotonicMs;
  }

  confirmAlone(at: CheckTime): void {
    this.confirmedAt = at;
    this.group = undefined;
  }

  confirmWith(group: object, sharedTime: CheckTime): void {
    this.confirmedAt = sharedTime;
    this.group = group;
  }

  addMembership(organizationId: string, membership: CachedMembership): void {
    // Its group was formed without this membership.
    if (this.group !== undefined) this.confirmAlone({ ...this.confirmedAt });
    this.memberships ??= new Map();
    this.memberships.set(organizationId, membership);
  }

  hasMembership(memberIds: ReadonlySet<string>): boolean {
    if (this.memberships === undefined || memberIds.size === 0) return false;
    return [...this.memberships.values()].some(({ id }) => memberIds.has(id));
  }
}
