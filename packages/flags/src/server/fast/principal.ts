/** A caller whose credentials Better Auth has checked, and what was found out about them then. */
import type { Principal } from "../caller.ts";

/** A user's place in an organization. */
export interface Membership {
  readonly id: string;
  readonly role: string;
}

/** The rows a session rests on, by which it is asked for again. Times are wall-clock. */
export interface SessionRows {
  readonly token: string;
  readonly userId: string;
  readonly expiresAtMs: number;
  /** The later of the two rows' last changes. */
  readonly touchedAtMs: number;
}

export interface PrincipalFacts {
  readonly caller: Principal;
  /** Absent where the rows cannot be asked for: the session is not, or not only, in the database. */
  readonly rows?: SessionRows | undefined;
  /** Wall-clock time from which Better Auth has something to do: prolong the session, or end it. */
  readonly validUntilMs: number;
}

/** What a key belongs to; `nothing` when that cannot be told. */
export type KeyOwner = "user" | "organization" | "nothing";

/** When a check was begun, by both clocks. */
export interface CheckTime {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export class KnownPrincipal {
  readonly proof: string;
  readonly caller: Principal;
  readonly rows: SessionRows | undefined;
  readonly validUntilMs: number;
  /** By organization; undefined while there are none. What is not there cannot be asked for again. */
  memberships: Map<string, Membership> | undefined;
  keyOwner: KeyOwner | undefined;
  confirmedAt: CheckTime;
  /** When the values of its rows were last compared, not only whether they have changed. */
  comparedAtMs: number;
  usedAtMs: number;
  isForgotten = false;
  /** The table that watches it, as long as that is open, and its number there. */
  watchedBy: object | undefined;
  watchId = -1;

  constructor(proof: string, { caller, rows, validUntilMs }: PrincipalFacts, confirmedAt: CheckTime) {
    this.proof = proof;
    this.caller = caller;
    this.rows = rows;
    this.validUntilMs = validUntilMs;
    this.confirmedAt = confirmedAt;
    this.comparedAtMs = confirmedAt.monotonicMs;
    this.usedAtMs = confirmedAt.monotonicMs;
  }

  join(organizationId: string, membership: Membership): void {
    this.memberships ??= new Map();
    this.memberships.set(organizationId, membership);
  }
}
