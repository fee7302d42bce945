/** The context that flags are evaluated for: the caller's own identity, what the caller may claim, and the environment. */
import type { Caller, KnownTies, Principal } from "@halyard/sessions/plugin";
import type { EvaluationContext } from "../../engine/definition.ts";
import type { JsonObject } from "../../engine/json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import type { ClaimedContext } from "../../model/evaluation.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { MAX_LINE, overLimit } from "../../model/inputs.ts";
import { judge, remedyFor } from "../access/permission.ts";
import type { Call } from "../call.ts";
import type { HeaderReader } from "../http/host-request.ts";
import { warnOfUnlisted } from "../listed-environments.ts";
import type { Service } from "../service.ts";
import type { TrustedSubject } from "../trusted/trusted-attributes.ts";
import { collectDevice, collectGeo } from "./request-attributes.ts";
import {
  claimedRoots,
  claimedSubject,
  claimsOf,
  ownSubject,
  rootsClaimed,
  withinOrganization,
} from "./trusted-subject.ts";

export interface ResolvedContext {
  readonly context: EvaluationContext;
  /** The context for global flags: a claim that an organization granted does not count there. */
  readonly globalContext: EvaluationContext;
  /** Whose trusted attributes `context` reads; undefined for an anonymous visitor, who has none. */
  readonly subject: TrustedSubject | undefined;
  /** The same for `globalContext`. */
  readonly globalSubject: TrustedSubject | undefined;
  /** The tenant whose flags come before the global ones. */
  readonly tenant: string;
  /** Whether flags for servers exist for the caller. */
  readonly seesServerFlags: boolean;
  /** The caller named an environment that it may not choose. */
  readonly isEnvironmentIgnored: boolean;
}

/** What a request says about the context. */
export interface ContextInput {
  readonly context?: ClaimedContext | undefined;
  readonly environment?: string | undefined;
}

/** The fields that identify a user; the others describe. */
const IDENTITY = ["userId", "email", "role"] as const;

export async function resolveContext(
  call: Call,
  caller: Caller,
  { context: claimed = {}, environment }: ContextInput,
): Promise<ResolvedContext> {
  const { service, headers } = call;
  const chosen = chooseEnvironment(service, headers, caller, environment);
  const collected = withRequestAttributes(service, headers, claimed);
  if (caller.kind === "server") {
    return inEnvironment(resolved(service, collected, collected.organizationId), chosen, true);
  }
  if (caller.kind === "anonymous") return inEnvironment(anonymous(service, collected), chosen, false);
  const context = await principal(call, caller, collected);
  return inEnvironment(context, chosen, await seesServerFlags(call, caller, context.tenant));
}

/** The same from memory. Undefined when the database must be asked, or when the claim needs a permission. */
export function resolveKnownContext(
  service: Service,
  headers: HeaderReader,
  caller: Exclude<Caller, { kind: "server" }>,
  ties: KnownTies,
  { context: claimed = {}, environment }: ContextInput,
): ResolvedContext | undefined {
  const chosen = chooseEnvironment(service, headers, caller, environment);
  const collected = withRequestAttributes(service, headers, claimed);
  if (caller.kind === "anonymous") return inEnvironment(anonymous(service, collected), chosen, false);
  if (isPersonalKey(caller)) return undefined;
  if (collected.organizationId === undefined && ties.home === "unknown") return undefined;
  const organizationId = (collected.organizationId ?? ties.home) || undefined;
  const tie = organizationId === undefined || isLabel(service) ? {} : ties.tieTo(organizationId);
  if (tie === undefined || foreignClaims(service, caller, collected, tie).length > 0) return undefined;
  const context = asOneself(service, caller, collected, organizationId, tie.role);
  return inEnvironment(context, chosen, isServerKey(caller));
}

/** A person's key is as trusted as the person is now, which needs the database. */
function isPersonalKey(caller: Principal): boolean {
  return caller.kind === "key" && caller.key.isPersonal;
}

/** A key that server code made. Only such a key is trusted more than a session. */
function isServerKey(caller: Caller): boolean {
  return caller.kind === "key" && !caller.key.isPersonal;
}

async function seesServerFlags(call: Call, caller: Principal, tenant: string): Promise<boolean> {
  if (!isPersonalKey(caller)) return caller.kind === "key";
  return (await judge(call, caller, "read", tenant)) === "granted";
}

/** A context before its environment is chosen. */
type IdentityContext = Omit<ResolvedContext, "isEnvironmentIgnored" | "seesServerFlags">;

interface ChosenEnvironment {
  readonly name: string | undefined;
  readonly isIgnored: boolean;
}

const RING_HEADER = "x-deployment-ring";

/** The environment of the header or the body, else the host's default. */
function chooseEnvironment(
  service: Service,
  headers: HeaderReader,
  caller: Caller,
  fromBody: string | undefined,
): ChosenEnvironment {
  const { default: fallback, claimable } = service.options.environments ?? {};
  const wanted = (headers.get(RING_HEADER) || fromBody) ?? "";
  if (wanted === "") return { name: fallback, isIgnored: false };
  if (wanted.length > MAX_LINE) {
    throw overLimit("The environment's name has too many characters.", MAX_LINE, "Use a shorter name.");
  }
  const isTrusted = caller.kind === "server" || isServerKey(caller);
  if (isTrusted) warnOfUnlisted(service, wanted);
  const isIgnored = !isTrusted && claimable !== undefined && !claimable.includes(wanted);
  return { name: isIgnored ? fallback : wanted, isIgnored };
}

function inEnvironment(
  { context, globalContext, subject, globalSubject, tenant }: IdentityContext,
  { name, isIgnored }: ChosenEnvironment,
  seesServerFlags: boolean,
): ResolvedContext {
  const rest = { subject, globalSubject, tenant, seesServerFlags, isEnvironmentIgnored: isIgnored };
  if (name === undefined) return { context, globalContext, ...rest };
  const named = { ...context, environment: name };
  const namedGlobal = globalContext === context ? named : { ...globalContext, environment: name };
  return { context: named, globalContext: namedGlobal, ...rest };
}

/** Identity that an anonymous visitor may claim, unless `identity` is `verified`. It opens no organization's flags. */
const CLAIMABLE: ReadonlySet<string> = new Set(["userId", "organizationId"]);

function anonymous(service: Service, claimed: ClaimedContext): IdentityContext {
  const fields: string[] = [...IDENTITY, "organizationId" as const].filter(
    (field) => claimed[field] !== undefined,
  );
  if (claimed.attributes?.["organizationRole"] !== undefined) fields.push("attributes.organizationRole");
  fields.push(...claimedRoots(service, claimed));
  const mayClaim = service.options.identity !== "verified";
  const refused = mayClaim ? fields.filter((field) => !CLAIMABLE.has(field)) : fields;
  if (refused.length > 0) {
    throw new FeatureFlagError(
      "PERMISSION_DENIED",
      `The caller is not signed in, so the context may not claim ${refused.join(", ")}. Sign in, or leave out ${refused.length === 1 ? "this field" : "these fields"}.`,
      { status: 401, details: { fields: refused } },
    );
  }
  const context = present(claimed);
  return {
    context,
    globalContext: context,
    subject: undefined,
    globalSubject: undefined,
    tenant: NO_TENANT,
  };
}

async function principal(call: Call, caller: Principal, claimed: ClaimedContext): Promise<IdentityContext> {
  const { service, identity } = call;
  const home = claimed.organizationId === undefined ? await identity.homeOf(caller) : undefined;
  const organizationId = (claimed.organizationId ?? home) || undefined;
  const tie =
    organizationId === undefined || isLabel(service) ? {} : await identity.tieTo(caller, organizationId);
  const foreign = foreignClaims(service, caller, claimed, tie);
  const role = tie?.role;
  if (foreign.length === 0) return asOneself(service, caller, claimed, organizationId, role);
  const confirmed = await identity.confirm(caller);
  await requireEvaluateAs(call, confirmed, organizationId ?? NO_TENANT, foreign);
  // With `evaluate-as` the whole claim counts; the caller only decides which tenant's flags are read.
  const chosen = service.options.multiTenant === true ? organizationId : claimed.organizationId;
  const claim = resolved(service, claimed, chosen);
  if (await reachesGlobalFlags(call, confirmed, claim.tenant)) return claim;
  const globalContext = present({
    ...claimed,
    ...ownContext(confirmed),
    organizationId: tie === undefined ? undefined : organizationId,
    attributes: withRole(claimed.attributes, role),
  });
  return {
    ...claim,
    subject: await withinOrganization(call, claim.subject, claim.tenant),
    globalContext,
    globalSubject: ownSubject(confirmed, globalContext.organizationId),
  };
}

/** Whether an organization id is a text that any caller may send, because the host has no organizations. */
function isLabel({ hasOrganizations, options }: Service): boolean {
  return !hasOrganizations && options.multiTenant !== true;
}

/** The claimed fields that differ from the caller's own identity. */
function foreignClaims(
  service: Service,
  caller: Principal,
  claimed: ClaimedContext,
  tie: { readonly role?: string } | undefined,
): string[] {
  const own = ownContext(caller);
  const foreign: string[] = IDENTITY.filter(
    (field) => claimed[field] !== undefined && claimed[field] !== own[field],
  );
  if (tie === undefined) foreign.push("organizationId");
  const claimedRole = claimed.attributes?.["organizationRole"];
  if (!isServerKey(caller) && claimedRole !== undefined && claimedRole !== tie?.role) {
    foreign.push("attributes.organizationRole");
  }
  if (caller.kind === "user") foreign.push(...claimedRoots(service, claimed));
  else if (caller.key.isPersonal) foreign.push(...rootsClaimed(claimed));
  return foreign;
}

function asOneself(
  service: Service,
  caller: Principal,
  claimed: ClaimedContext,
  organizationId: string | undefined,
  role: string | undefined,
): IdentityContext {
  const attributes = isServerKey(caller) ? claimed.attributes : withRole(claimed.attributes, role);
  const own = ownSubject(caller, isLabel(service) ? undefined : organizationId);
  const subject = caller.kind === "key" ? { ...own, claims: claimsOf(claimed) } : own;
  return resolved(service, { ...claimed, ...ownContext(caller), attributes }, organizationId, subject);
}

/**
 * Whether a claim that was granted for the tenant's flags also counts for global flags. Any user may create an
 * organization and own it, so what its roles grant ends with it. A key gets its actions from the application.
 */
async function reachesGlobalFlags(call: Call, caller: Principal, tenant: string): Promise<boolean> {
  if (tenant === NO_TENANT || isServerKey(caller)) return true;
  return (await judge(call, caller, "evaluate-as", NO_TENANT)) === "granted";
}

/** The attributes, with the member's actual role in the organization. */
function withRole(attributes: JsonObject | undefined, role: string | undefined): JsonObject | undefined {
  if (role !== undefined) return { ...attributes, organizationRole: role };
  if (attributes === undefined || !Object.hasOwn(attributes, "organizationRole")) return attributes;
  const { organizationRole: _claimed, ...others } = attributes;
  return others;
}

/** The caller's own identity. A key is not a user. */
function ownContext(caller: Principal): ClaimedContext {
  if (caller.kind === "key") return {};
  const { id, email, role } = caller.user;
  return { userId: id, email, role };
}

async function requireEvaluateAs(
  call: Call,
  caller: Principal,
  organizationId: string,
  foreign: readonly string[],
): Promise<void> {
  const tenant = call.service.options.multiTenant === true ? organizationId : NO_TENANT;
  if ((await judge(call, caller, "evaluate-as", tenant)) === "granted") return;
  throw new FeatureFlagError(
    "PERMISSION_DENIED",
    `The context claims another identity than the caller's. Leave out ${foreign.join(", ")}. ${remedyFor(call, caller, "evaluate-as")}`,
    { details: { fields: foreign } },
  );
}

function resolved(
  service: Service,
  claimed: ClaimedContext,
  organizationId: string | undefined,
  subject: TrustedSubject = claimedSubject(claimed, organizationId),
): IdentityContext & { readonly subject: TrustedSubject } {
  const context = present({ ...claimed, organizationId: organizationId || undefined });
  const tenant = (service.options.multiTenant === true && organizationId) || NO_TENANT;
  return { context, globalContext: context, subject, globalSubject: subject, tenant };
}

function withRequestAttributes(
  service: Service,
  headers: HeaderReader,
  claimed: ClaimedContext,
): ClaimedContext {
  if (service.options.context?.collect !== true) return claimed;
  return {
    ...claimed,
    device: claimed.device ?? collectDevice(headers),
    geo: claimed.geo ?? collectGeo(headers),
  };
}

/** The context without undefined fields, and without claimed trusted attributes. */
export function present(claimed: ClaimedContext): EvaluationContext {
  const { userId, email, role, organizationId, anonymousId, attributes, device, geo } = claimed;
  return {
    ...(userId !== undefined && { userId }),
    ...(email !== undefined && { email }),
    ...(role !== undefined && { role }),
    ...(organizationId !== undefined && { organizationId }),
    ...(anonymousId !== undefined && { anonymousId }),
    ...(device !== undefined && { device }),
    ...(geo !== undefined && { geo }),
    ...(attributes !== undefined && { attributes }),
  };
}
