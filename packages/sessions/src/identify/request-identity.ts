/** Who makes one request: found out once, for its rate limit, its operation and its response. */
import type { Awaitable } from "@halyard/base";
import type { CachedPrincipal, PrincipalFacts } from "./cached-principal.ts";
import type { Caller, Client, Principal } from "./caller.ts";
import { type Credentials, readCredentials } from "./credentials.ts";
import { IdentityError } from "./errors.ts";
import type { Identities } from "./identities.ts";
import { readKey } from "./keys.ts";
import type { KnownCaller, OrganizationTie } from "./known-caller.ts";
import { mayExist, organizationExists, organizationsUnavailable, readMembership } from "./organizations.ts";
import { type IdentityRequest, isServerCall } from "./request.ts";
import { readSession } from "./session.ts";

const SERVER: Extract<Caller, { kind: "server" }> = { kind: "server" };
const ANONYMOUS: Extract<Caller, { kind: "anonymous" }> = { kind: "anonymous" };

/** Deadline for the session store. */
const WAIT_MS = 10_000;
/** The same for an evaluation that can use the last verified caller instead. */
const SHORT_WAIT_MS = 1000;

/** Decides whether the credentials of a request are looked up, which costs a query. */
export interface LookupGuard {
  /**
   * Seconds until the lookup may be made; undefined if it may be made now. `cacheKey` is undefined for credentials that
   * only Better Auth can read.
   */
  secondsToWait(cacheKey: string | undefined): Promise<number | undefined>;
  /** Called after a lookup that found the caller, or found none. */
  report(cacheKey: string | undefined, isValid: boolean): Promise<void>;
}

/** Identifies the caller of one request, once. */
export class RequestIdentity {
  readonly #request: IdentityRequest;
  readonly #identities: Identities;
  /** From the cookie's copy of the session, where there is one. */
  #likely: Awaitable<Client> | undefined;
  /** From the session store. */
  #confirmed: Promise<Client> | undefined;
  #roles: Map<string, Promise<string | undefined>> | undefined;
  #principal: CachedPrincipal | undefined;
  #isStale = false;
  /** Stores what was verified before the request was counted. */
  #rememberVerified: (() => void) | undefined;
  #isCounted = false;
  #guard: LookupGuard | undefined;

  /** `known`: the caller that the fast path has already taken from the principal cache. */
  constructor(request: IdentityRequest, identities: Identities, known?: KnownCaller) {
    this.#request = request;
    this.#identities = identities;
    if (known === undefined) return;
    this.#likely = known.caller;
    this.#principal = known.principal;
    this.#isStale = known.isStale;
  }

  /** The session store did not respond, and the caller is the last verified one. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** Whether the caller is known without a lookup. */
  get isIdentified(): boolean {
    return this.#likely !== undefined;
  }

  /** The caller whom these credentials identified at the last verification, which may be some minutes ago. */
  get lastVerified(): Principal | undefined {
    return this.#lastVerified()?.caller;
  }

  /** Limits the lookups of this request's credentials from now on. */
  guardLookups(guard: LookupGuard): void {
    this.#guard = guard;
  }

  /** Called when the request is within its rate limit. A refused request leaves nothing in the principal cache. */
  markCounted(): void {
    this.#isCounted = true;
    this.#rememberVerified?.();
  }

  /** The caller of an evaluation. Synchronous if it is known. */
  evaluator(): Awaitable<Caller> {
    if (isServerCall(this.#request)) return SERVER;
    this.#likely ??= this.#confirmed ?? this.#identify(false);
    return this.#likely;
  }

  /** The caller of an operation that needs a permission: never anonymous, and read from the session store. */
  async administrator(): Promise<Exclude<Caller, { kind: "anonymous" }>> {
    if (isServerCall(this.#request)) return SERVER;
    this.#confirmed ??= this.#identify(true);
    const caller = await this.#confirmed;
    if (caller.kind === "anonymous") throw notSignedIn();
    return caller;
  }

  /** Reads the caller's session from the session store, as everything that needs a permission requires. */
  async confirm(caller: Principal): Promise<Principal> {
    const confirmed = await this.confirmIfKnown(caller);
    if (confirmed === undefined) throw notSignedIn();
    return confirmed;
  }

  /** The same, undefined when the session store does not have the session. Rejects when the store fails. */
  async confirmIfKnown(caller: Principal): Promise<Principal | undefined> {
    return caller.kind === "key" ? caller : this.#readUser(true);
  }

  /** Undefined when the caller does not belong to the organization. */
  async tieTo(caller: Principal, organizationId: string): Promise<OrganizationTie | undefined> {
    if (caller.kind === "user") {
      const role = await this.roleIn(caller.user.id, organizationId);
      return role === undefined ? undefined : { role };
    }
    const { ownerId, owner } = caller.key;
    switch (owner.kind) {
      case "organization":
        return ownerId === organizationId ? {} : undefined;
      case "user":
        // The key has its own permissions instead of the user's role.
        return (await this.roleIn(ownerId, organizationId)) === undefined ? undefined : {};
      case "service":
        return (await this.organizationExists(organizationId)) ? {} : undefined;
      case "unclear":
        return undefined;
    }
  }

  /** The organization a request acts on when it names none. */
  async homeOf(caller: Principal): Promise<string | undefined> {
    if (caller.kind === "key") {
      return caller.key.owner.kind === "organization" ? caller.key.ownerId : undefined;
    }
    const active = caller.user.activeOrganizationId;
    // A session keeps its active organization when the user is removed from it.
    if (active === undefined || (await this.roleIn(caller.user.id, active)) === undefined) return undefined;
    return active;
  }

  /** Of any user. Undefined for one who is not a member. */
  roleIn(userId: string, organizationId: string): Promise<string | undefined> {
    this.#roles ??= new Map();
    const key = JSON.stringify([userId, organizationId]);
    const role = this.#roles.get(key) ?? this.#readRole(userId, organizationId);
    this.#roles.set(key, role);
    return role;
  }

  /** Whether the host has the organization. */
  organizationExists(organizationId: string): Promise<boolean> {
    return organizationExists(this.#request.context, organizationId);
  }

  async #identify(isAuthoritative: boolean): Promise<Client> {
    const credentials = this.#credentials();
    if (this.#guard === undefined || credentials === "none") return this.#lookUp(isAuthoritative);
    return this.#lookUpGuarded(this.#guard, cacheKeyOf(credentials), isAuthoritative);
  }

  async #lookUpGuarded(
    guard: LookupGuard,
    cacheKey: string | undefined,
    isAuthoritative: boolean,
  ): Promise<Client> {
    const waitSeconds = await guard.secondsToWait(cacheKey);
    if (waitSeconds !== undefined) throw tooManyLookups(waitSeconds);
    try {
      const caller = await this.#lookUp(isAuthoritative);
      if (caller.kind !== "anonymous") await guard.report(cacheKey, true);
      // Better Auth deletes the cookie of a session that it looked up and did not find.
      else if (this.#request.responseHeaders.has("set-cookie")) await guard.report(cacheKey, false);
      return caller;
    } catch (error) {
      const isInvalid = error instanceof IdentityError && error.problem === "invalid-key";
      if (isInvalid) await guard.report(cacheKey, false);
      throw error;
    }
  }

  async #lookUp(isAuthoritative: boolean): Promise<Client> {
    return (await this.#readKey(isAuthoritative)) ?? (await this.#readUser(isAuthoritative)) ?? ANONYMOUS;
  }

  async #readKey(isAuthoritative: boolean): Promise<Principal | undefined> {
    const startedAtMs = this.#identities.principals.now();
    try {
      const verified = await readKey(this.#request, this.#identities.keyResource);
      if (verified === undefined) return undefined;
      const { key, validUntilMs } = verified;
      const caller: Principal = { kind: "key", key };
      if (validUntilMs !== undefined) {
        this.#remember({ caller, credentialId: key.id, validUntilMs }, startedAtMs);
      }
      return caller;
    } catch (error) {
      return this.#fallBack("key", isAuthoritative, error);
    }
  }

  async #readUser(isAuthoritative: boolean): Promise<Principal | undefined> {
    const { principals, credentials } = this.#identities;
    const startedAtMs = principals.now();
    try {
      const session = await readSession(this.#request, {
        isAuthoritative,
        waitMs: () => (!isAuthoritative && this.#lastVerified() !== undefined ? SHORT_WAIT_MS : WAIT_MS),
        dontRememberCookie: credentials.dontRemember,
      });
      if (session === undefined) return undefined;
      const caller: Principal = { kind: "user", user: session.user };
      if (session.validity !== undefined) {
        const { token: credentialId, changedAtMs, validUntilMs } = session.validity;
        this.#remember({ caller, credentialId, changedAtMs, validUntilMs }, startedAtMs);
      }
      return caller;
    } catch (error) {
      return this.#fallBack("user", isAuthoritative, error);
    }
  }

  /** The last verified caller while the store does not respond; the response is then marked as stale. */
  #fallBack(kind: Principal["kind"], isAuthoritative: boolean, error: unknown): Principal {
    const isOutage = error instanceof IdentityError && error.problem === "unavailable";
    const principal = isOutage && !isAuthoritative ? this.#lastVerified() : undefined;
    if (principal?.caller.kind !== kind) throw error;
    this.#principal = principal;
    this.#isStale = true;
    return principal.caller;
  }

  #remember(facts: PrincipalFacts, startedAtMs: number): void {
    const cacheKey = this.#cacheKey();
    if (cacheKey === undefined) return;
    this.#rememberVerified = () => {
      this.#principal = this.#identities.principals.remember(cacheKey, facts, startedAtMs);
    };
    if (this.#isCounted) this.#rememberVerified();
  }

  #lastVerified(): CachedPrincipal | undefined {
    const cacheKey = this.#cacheKey();
    return cacheKey === undefined ? undefined : this.#identities.principals.recallStale(cacheKey);
  }

  #cacheKey(): string | undefined {
    return cacheKeyOf(this.#credentials());
  }

  #credentials(): Credentials {
    const headers = this.#request.request?.headers ?? this.#request.headers;
    if (!(headers instanceof Headers)) return "unclear";
    return readCredentials(this.#identities.credentials, (name) => headers.get(name));
  }

  async #readRole(userId: string, organizationId: string): Promise<string | undefined> {
    const { context } = this.#request;
    if (!mayExist(context, organizationId)) return undefined;
    // The memberships of the principal are its own; another user's are neither taken from them nor added.
    const principal =
      this.#principal && ownerOf(this.#principal.caller) === userId ? this.#principal : undefined;
    const cached = principal?.memberships?.get(organizationId);
    if (cached !== undefined) return cached.role;
    // The store that could not confirm the caller is the one that holds the organizations.
    if (this.#isStale) throw organizationsUnavailable(new Error("The session store does not respond."));
    const { principals } = this.#identities;
    const startedAtMs = principals.now();
    const membership = await readMembership(context, userId, organizationId);
    if (membership === undefined) return undefined;
    const { id, role } = membership;
    if (id !== undefined && principal !== undefined) {
      principals.addMembership(principal, organizationId, { id, role }, startedAtMs);
    }
    return role;
  }
}

function ownerOf(caller: Principal): string {
  return caller.kind === "user" ? caller.user.id : caller.key.ownerId;
}

function notSignedIn(): IdentityError {
  const message =
    "This needs a signed-in user or an API key. Sign in, or send a key in the header x-api-key.";
  return new IdentityError("not-signed-in", message);
}

function tooManyLookups(retryAfterSeconds: number): IdentityError {
  const message = `This address sent too many sessions or API keys that are not valid, or too many requests to health and metrics. Wait ${retryAfterSeconds} s, and check the credentials.`;
  return new IdentityError("too-many-lookups", message, { retryAfterSeconds });
}

function cacheKeyOf(credentials: Credentials): string | undefined {
  return typeof credentials === "object" ? credentials.cacheKey : undefined;
}
