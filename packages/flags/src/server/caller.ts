/** Who makes a call: the application's own code, a server key, a signed-in user, or nobody known. */
import { type Actor, SYSTEM } from "../model/audit.ts";
import { FeatureFlagError } from "../model/errors.ts";
import { type Call, isServerCall, isServerEvaluation } from "./call.ts";
import { principalOf } from "./fast/host-principals.ts";
import type { KeyOwner } from "./fast/principal.ts";
import { readKey, type ServerKey } from "./keys.ts";
import { organizationExists, roleIn } from "./organizations.ts";
import { readUser, type SessionUser } from "./session.ts";

export type Caller =
  | { readonly kind: "server" }
  | { readonly kind: "key"; readonly key: ServerKey }
  | { readonly kind: "user"; readonly user: SessionUser }
  | { readonly kind: "anonymous" };

/** Somebody whose permissions decide. */
export type Principal = Exclude<Caller, { kind: "server" | "anonymous" }>;

const SERVER: Extract<Caller, { kind: "server" }> = { kind: "server" };
const ANONYMOUS: Extract<Caller, { kind: "anonymous" }> = { kind: "anonymous" };

/** Who asks for an evaluation. */
export async function identifyEvaluator(call: Call): Promise<Caller> {
  if (isServerEvaluation(call)) return SERVER;
  return identify(call, false);
}

/** Who asks for something that needs a permission: nobody unknown, and the session as the session store knows it. */
export async function identifyAdministrator(call: Call): Promise<Exclude<Caller, { kind: "anonymous" }>> {
  if (isServerCall(call)) return SERVER;
  const caller = await identify(call, true);
  if (caller.kind !== "anonymous") return caller;
  throw unknownCaller();
}

/** The same caller, a session now read from the session store: before anything that needs a permission. */
export async function confirm(call: Call, caller: Principal): Promise<Principal> {
  const sure = await confirmIfKnown(call, caller);
  if (sure === undefined) throw unknownCaller();
  return sure;
}

/** The same, undefined where the session store does not know the session. A store that fails is an error. */
export async function confirmIfKnown(call: Call, caller: Principal): Promise<Principal | undefined> {
  if (caller.kind === "key") return caller;
  const user = await readUser(call, { authoritative: true });
  return user && { kind: "user", user };
}

function unknownCaller(): FeatureFlagError {
  const message = "Sign in, or send a server key, to administer feature flags.";
  return new FeatureFlagError("PERMISSION_DENIED", message, { status: 401 });
}

type Known = Exclude<Caller, { kind: "server" }>;

/** Who makes a call is asked by its rate limit, its operation and its answer; found out once. */
const identified = new WeakMap<Call, { sure?: Promise<Known>; likely?: Promise<Known> }>();

function identify(call: Call, authoritative: boolean): Promise<Known> {
  const asked = identified.get(call) ?? {};
  identified.set(call, asked);
  if (authoritative) {
    asked.sure ??= findOut(call, true);
    return asked.sure;
  }
  asked.likely ??= asked.sure ?? findOut(call, false);
  return asked.likely;
}

/** Says who makes a call, where that is known before. */
export function introduce(call: Call, caller: Known): void {
  identified.set(call, { likely: Promise.resolve(caller) });
}

async function findOut(call: Call, authoritative: boolean): Promise<Known> {
  const key = await readKey(call, { authoritative });
  if (key !== undefined) return { kind: "key", key };
  const user = await readUser(call, { authoritative });
  return user === undefined ? ANONYMOUS : { kind: "user", user };
}

export function actorOf(caller: Exclude<Caller, { kind: "anonymous" }>): Actor {
  if (caller.kind === "server") return SYSTEM;
  return caller.kind === "key" ? { type: "key", id: caller.key.id } : { type: "user", id: caller.user.id };
}

/** What ties a caller to an organization: the role of a member, or being its key. Undefined: nothing does. */
export async function tieTo(
  call: Call,
  caller: Principal,
  organizationId: string,
): Promise<{ readonly role?: string } | undefined> {
  if (caller.kind === "user") return tieOfUser(call, caller.user.id, organizationId);
  const owner = await ownerOf(call, caller.key);
  if (owner === "organization") return caller.key.ownerId === organizationId ? {} : undefined;
  // A user's key reaches as far as the user, with its own permissions in place of the user's.
  if (owner === "user" && (await roleIn(call, caller.key.ownerId, organizationId)) !== undefined) return {};
  return undefined;
}

/** The organization a call acts on when it names none. */
export async function homeOf(call: Call, caller: Principal): Promise<string | undefined> {
  if (caller.kind === "key") {
    return (await ownerOf(call, caller.key)) === "organization" ? caller.key.ownerId : undefined;
  }
  const active = caller.user.activeOrganizationId;
  // A session keeps its active organization when the user is removed from it.
  if (active === undefined || (await roleIn(call, caller.user.id, active)) === undefined) return undefined;
  return active;
}

async function tieOfUser(call: Call, userId: string, organizationId: string) {
  const role = await roleIn(call, userId, organizationId);
  return role === undefined ? undefined : { role };
}

/**
 * Whose a key is. The key plugin does not say whether the owner is a user or an organization; where ids are counted
 * numbers both may exist with the same one, and such a key then belongs to neither.
 */
async function ownerOf(call: Call, { ownerId }: ServerKey): Promise<KeyOwner> {
  const principal = principalOf(call);
  if (principal?.keyOwner !== undefined) return principal.keyOwner;
  const [organization, user] = await Promise.all([
    organizationExists(call, ownerId),
    call.context.internalAdapter.findUserById(ownerId),
  ]);
  const owner = organization === (user !== null) ? "nothing" : organization ? "organization" : "user";
  if (principal?.caller.kind === "key") principal.keyOwner = owner;
  return owner;
}
