/** The principals of one auth instance, found by its adapter, which every call has. */
import { isStateful } from "better-auth/api";
import type { PostgresPool } from "../../store/postgres-pool.ts";
import type { Call } from "../call.ts";
import type { Principal } from "../caller.ts";
import { type CredentialNames, credentialNames, readCredential } from "./credentials.ts";
import type { CheckTime, KnownPrincipal, PrincipalFacts, SessionRows } from "./principal.ts";
import { createPrincipals, type Principals } from "./principals.ts";
import { sessionCount } from "./session-count.ts";
import { SessionTable } from "./session-table.ts";
import { createSessionWatch } from "./session-watch.ts";

export interface HostPrincipals extends Principals {
  readonly names: CredentialNames;
}

const known = new WeakMap<object, HostPrincipals>();
/** The principal that was found for a call, to which what is found out later is added. */
const ofCalls = new WeakMap<Call, KnownPrincipal>();
/** Calls whose caller could not be confirmed because the store did not answer. */
const staleCalls = new WeakSet<Call>();

export function principalsOf({ context }: Pick<Call, "context">, pool?: PostgresPool): HostPrincipals {
  const found = known.get(context.adapter);
  if (found !== undefined) return found;
  const watch = canWatch(context)
    ? createSessionWatch({
        adapter: context.adapter,
        count: sessionCount(context, pool),
        table: SessionTable.on(context, pool),
        fields: {
          role: context.tables["user"]?.fields["role"] !== undefined,
          activeOrganizationId: context.tables["session"]?.fields["activeOrganizationId"] !== undefined,
        },
      })
    : undefined;
  const made = Object.assign(createPrincipals({ watch }), { names: credentialNames(context) });
  known.set(context.adapter, made);
  return made;
}

/** Undefined before anybody was checked. */
export function principalsSoFar({ adapter }: Call["context"]): Principals | undefined {
  return known.get(adapter);
}

/** Whether sessions are rows of the database, and what is asked for one request may serve another. */
function canWatch(context: Call["context"]): boolean {
  const { options } = context;
  if (!isStateful({ context } as Parameters<typeof isStateful>[0]) || options.secondaryStorage !== undefined)
    return false;
  return options.session?.cookieCache?.enabled !== true && !isWorkers();
}

/** Cloudflare's Workers have no timers between requests, and no request may wait for what another has asked. */
function isWorkers(): boolean {
  return globalThis.navigator?.userAgent === "Cloudflare-Workers";
}

/** What a call over HTTP proves its caller with. */
function proofOf(call: Call): string | undefined {
  const headers = call.request?.headers ?? call.headers;
  if (!(headers instanceof Headers)) return undefined;
  const credential = readCredential(principalsOf(call).names, (name) => headers.get(name));
  return typeof credential === "object" ? credential.proof : undefined;
}

/** Keeps what Better Auth has found out about the caller. */
export function rememberPrincipal(call: Call, facts: PrincipalFacts, askedAt: CheckTime): void {
  const proof = proofOf(call);
  if (proof !== undefined) ofCalls.set(call, principalsOf(call).remember(proof, facts, askedAt));
}

/** The caller as last known, and from now on the call's answer is marked: the store could not be asked. */
export function fallBackOnPrincipal(call: Call, kind: Principal["kind"]): Principal | undefined {
  const proof = proofOf(call);
  const principal = proof === undefined ? undefined : principalsOf(call).recallStale(proof);
  if (principal === undefined || principal.caller.kind !== kind) return undefined;
  attachPrincipal(call, principal, true);
  return principal.caller;
}

/** Whether there is somebody to fall back on. */
export function isRemembered(call: Call): boolean {
  const proof = proofOf(call);
  return proof !== undefined && principalsOf(call).recallStale(proof) !== undefined;
}

export function attachPrincipal(call: Call, principal: KnownPrincipal, stale: boolean): void {
  ofCalls.set(call, principal);
  if (stale) staleCalls.add(call);
}

export function principalOf(call: Call): KnownPrincipal | undefined {
  return ofCalls.get(call);
}

/** Whether the call's caller is who was last known, because the store could not be asked. */
export function isCallerStale(call: Call): boolean {
  return staleCalls.has(call);
}

interface StoredSession {
  readonly session: Readonly<Record<string, unknown>>;
  readonly user: { readonly id: string } & Readonly<Record<string, unknown>>;
}

/** When Better Auth next has something to do with a session, and the rows by which it can be asked for until then. */
export function sessionTimes(
  { context }: Pick<Call, "context">,
  { session, user }: StoredSession,
  isProlonged: boolean,
): Pick<PrincipalFacts, "rows" | "validUntilMs"> | undefined {
  const { token, expiresAt } = session;
  const expiresAtMs = msOf(expiresAt);
  if (typeof token !== "string" || expiresAtMs === undefined) return undefined;
  const { expiresIn, updateAge } = context.sessionConfig;
  const { disableSessionRefresh = false, deferSessionRefresh = false } = context.options.session ?? {};
  const prolongs = isProlonged && !disableSessionRefresh && !deferSessionRefresh;
  const prolongAtMs = prolongs ? expiresAtMs - (expiresIn - updateAge) * 1000 : expiresAtMs;
  const rows = rowsOf(token, user.id, expiresAtMs, msOf(session["updatedAt"]), msOf(user["updatedAt"]));
  return { rows, validUntilMs: Math.min(expiresAtMs, prolongAtMs) };
}

function rowsOf(
  token: string,
  userId: string,
  expiresAtMs: number,
  sessionMs: number | undefined,
  userMs: number | undefined,
): SessionRows | undefined {
  if (sessionMs === undefined || userMs === undefined) return undefined;
  return { token, userId, expiresAtMs, touchedAtMs: Math.max(sessionMs, userMs) };
}

function msOf(value: unknown): number | undefined {
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
