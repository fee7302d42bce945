/** The context that flags are evaluated for: the caller's own identity, what the caller may claim, and the environment. */
import { type Awaitable, chain } from "@halyard/base";
import type { Caller, KnownTies, OrganizationTie, Principal } from "@halyard/sessions/plugin";
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
import type { LayerContext, Layers } from "./layer.ts";
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
  /** A claim that an organization granted does not count for global flags, so the two may differ. */
  readonly layers: Layers<LayerContext>;
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

/** What a context depends on, besides what the request says. */
export interface ContextCall {
  readonly service: Service;
  readonly headers: HeaderReader;
  /** The organization a request acts on when it names none. */
  homeOf(caller: Principal): Awaitable<string | undefined>;
  /** Undefined when the caller does not belong to the organization. */
  tieTo(caller: Principal, organizationId: string): Awaitable<OrganizationTie | undefined>;
  /** The call, of which permissions are asked. */
  guarded(): Call;
}

export function contextCall(call: Call): ContextCall {
  const { service, headers, identity } = call;
  return {
    service,
    headers,
    homeOf: (caller) => identity.homeOf(caller),
    tieTo: (caller, organizationId) => identity.tieTo(caller, organizationId),
    guarded: () => call,
  };
}

/** The call of a caller with known organizations. `pass` throws when a query or a permission is needed. */
export function knownContextCall(
  service: Service,
  headers: HeaderReader,
  ties: KnownTies,
  pass: () => never,
): ContextCall {
  return {
    service,
    headers,
    homeOf: () => (ties.home === "unknown" ? pass() : ties.home),
    tieTo: (_caller, organizationId) => ties.tieTo(organizationId) ?? pass(),
    guarded: pass,
  };
}

/** The fields that identify a user; the others describe. */
const IDENTITY = ["userId", "email", "role"] as const;

/** A claim, and the environment that was chosen. */
type Claim = ClaimedContext & { readonly environment?: string | undefined };

/** Synchronous unless the caller's organizations or permissions are not in memory. */
export function resolveContext(
  call: ContextCall,
  caller: Caller,
  { context: claimed = {}, environment: wanted }: ContextInput,
): Awaitable<ResolvedContext> {
  const { service } = call;
  const { name: environment, isIgnored } = chooseEnvironment(call, caller, wanted);
  const claim: Claim = { ...withRequestAttributes(call, claimed), environment };
  const resolvedFor = (layers: Layers<LayerContext>, seesServerFlags: boolean): ResolvedContext => ({
    layers,
    seesServerFlags,
    isEnvironmentIgnored: isIgnored,
  });
  if (caller.kind === "server") return resolvedFor(claimedLayers(service, claim, claim.organizationId), true);
  if (caller.kind === "anonymous") return resolvedFor(anonymousLayers(service, claim), false);
  return chain(principalLayers(call, caller, claim), (layers) =>
    chain(seesServerFlags(call, caller, layers[0].tenant), (sees) => resolvedFor(layers, sees)),
  );
}

/** A person's key is as trusted as the person is now, which needs the database. */
function isPersonalKey(caller: Principal): boolean {
  return caller.kind === "key" && caller.key.isPersonal;
}

/** A key that server code made. Only such a key is trusted more than a session. */
function isServerKey(caller: Caller): boolean {
  return caller.kind === "key" && !caller.key.isPersonal;
}

function seesServerFlags(call: ContextCall, caller: Principal, tenant: string): Awaitable<boolean> {
  if (!isPersonalKey(caller)) return caller.kind === "key";
  return chain(judge(call.guarded(), caller, "read", tenant), (verdict) => verdict === "granted");
}

interface ChosenEnvironment {
  readonly name: string | undefined;
  readonly isIgnored: boolean;
}

const RING_HEADER = "x-deployment-ring";

/** The environment of the header or the body, else the host's default. */
function chooseEnvironment(
  { service, headers }: ContextCall,
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

/** Identity that an anonymous visitor may claim, unless `identity` is `verified`. It opens no organization's flags. */
const CLAIMABLE: ReadonlySet<string> = new Set(["userId", "organizationId"]);

function anonymousLayers(service: Service, claimed: Claim): Layers<LayerContext> {
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
  return [{ tenant: NO_TENANT, context: present(claimed), subject: undefined }];
}

function principalLayers(
  call: ContextCall,
  caller: Principal,
  claimed: Claim,
): Awaitable<Layers<LayerContext>> {
  const { service } = call;
  const home = claimed.organizationId === undefined ? call.homeOf(caller) : undefined;
  return chain(home, (active) => {
    const organizationId = (claimed.organizationId ?? active) || undefined;
    const tie = organizationId === undefined || isLabel(service) ? {} : call.tieTo(caller, organizationId);
    return chain(tie, (known) => {
      const foreign = foreignClaims(service, caller, claimed, known);
      if (foreign.length === 0) return ownLayers(service, caller, claimed, organizationId, known?.role);
      return claimedByPrincipal(call.guarded(), caller, { claimed, organizationId, tie: known, foreign });
    });
  });
}

interface ForeignClaim {
  readonly claimed: Claim;
  readonly organizationId: string | undefined;
  readonly tie: OrganizationTie | undefined;
  /** The claimed fields that differ from the caller's own identity. */
  readonly foreign: readonly string[];
}

/** With `evaluate-as` the whole claim counts; the caller only decides which tenant's flags are read. */
async function claimedByPrincipal(
  call: Call,
  caller: Principal,
  { claimed, organizationId, tie, foreign }: ForeignClaim,
): Promise<Layers<LayerContext>> {
  const { service, identity } = call;
  const confirmed = await identity.confirm(caller);
  await requireEvaluateAs(call, confirmed, organizationId ?? NO_TENANT, foreign);
  const chosen = service.options.multiTenant === true ? organizationId : claimed.organizationId;
  const layers = claimedLayers(service, claimed, chosen);
  const [{ tenant, context, subject }] = layers;
  if (await reachesGlobalFlags(call, confirmed, tenant)) return layers;
  const own = present({
    ...claimed,
    ...ownContext(confirmed),
    organizationId: tie === undefined ? undefined : organizationId,
    attributes: withRole(claimed.attributes, tie?.role),
  });
  return [
    { tenant, context, subject: await withinOrganization(call, subject, tenant) },
    { tenant: NO_TENANT, context: own, subject: ownSubject(confirmed, own.organizationId) },
  ];
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

function ownLayers(
  service: Service,
  caller: Principal,
  claimed: Claim,
  organizationId: string | undefined,
  role: string | undefined,
): Layers<LayerContext> {
  const attributes = isServerKey(caller) ? claimed.attributes : withRole(claimed.attributes, role);
  const own = ownSubject(caller, isLabel(service) ? undefined : organizationId);
  const subject = caller.kind === "key" ? { ...own, claims: claimsOf(claimed) } : own;
  return sharedLayers(service, { ...claimed, ...ownContext(caller), attributes }, organizationId, subject);
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

function claimedLayers(
  service: Service,
  claimed: Claim,
  organizationId: string | undefined,
): Layers<LayerContext & { readonly subject: TrustedSubject }> {
  return sharedLayers(service, claimed, organizationId, claimedSubject(claimed, organizationId));
}

/** One context for all layers. */
function sharedLayers<Subject extends TrustedSubject>(
  service: Service,
  claimed: Claim,
  organizationId: string | undefined,
  subject: Subject,
): Layers<LayerContext & { readonly subject: Subject }> {
  const context = present({ ...claimed, organizationId: organizationId || undefined });
  const tenant = (service.options.multiTenant === true && organizationId) || NO_TENANT;
  const first = { tenant, context, subject };
  return tenant === NO_TENANT ? [first] : [first, { tenant: NO_TENANT, context, subject }];
}

function withRequestAttributes({ service, headers }: ContextCall, claimed: ClaimedContext): ClaimedContext {
  if (service.options.context?.collect !== true) return claimed;
  return {
    ...claimed,
    device: claimed.device ?? collectDevice(headers),
    geo: claimed.geo ?? collectGeo(headers),
  };
}

/** The context without undefined fields, and without claimed trusted attributes. */
export function present(claimed: Claim): EvaluationContext {
  const { userId, email, role, organizationId, anonymousId, attributes, device, geo, environment } = claimed;
  return {
    ...(userId !== undefined && { userId }),
    ...(email !== undefined && { email }),
    ...(role !== undefined && { role }),
    ...(organizationId !== undefined && { organizationId }),
    ...(anonymousId !== undefined && { anonymousId }),
    ...(device !== undefined && { device }),
    ...(geo !== undefined && { geo }),
    ...(attributes !== undefined && { attributes }),
    ...(environment !== undefined && { environment }),
  };
}
