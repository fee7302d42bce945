/** Who a flag is evaluated for: the session's user, or what the caller claims where that is allowed. */
import type { EvaluationContext } from "../engine/definition.ts";
import type { JsonObject } from "../engine/json.ts";
import { FeatureFlagError } from "../model/errors.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { NO_TENANT } from "../model/flag.ts";
import { judge } from "./access.ts";
import { type Call, headerReaderOf } from "./call.ts";
import { type Caller, confirm, homeOf, type Principal, tieTo } from "./caller.ts";
import { collectDevice, collectGeo } from "./request-context.ts";
import type { Service } from "./service.ts";

export interface ResolvedContext {
  readonly context: EvaluationContext;
  /** The same for the flags of all organizations, on which a claim granted within one organization has no hold. */
  readonly globalContext: EvaluationContext;
  /** Whose flags answer, before those of all organizations. */
  readonly tenant: string;
}

/** The fields that say who somebody is; the rest only describes. */
const IDENTITY = ["userId", "email", "role"] as const;

export async function resolveContext(
  service: Service,
  call: Call,
  caller: Caller,
  claimed: ClaimedContext = {},
): Promise<ResolvedContext> {
  const seen = withRequest(service, headerReaderOf(call), claimed);
  if (caller.kind === "server") return resolved(service, seen, seen.organizationId);
  if (caller.kind === "anonymous") return anonymous(service, seen);
  return principal(service, call, caller, seen);
}

/** What is known of a caller's organizations without asking. */
export interface KnownTies {
  /** The organization the caller acts on when the call names none; `unknown` when that must be found out. */
  readonly home: string | undefined | "unknown";
  /** What ties the caller to it. Undefined: that must be found out. */
  tieTo(organizationId: string): { readonly role?: string } | undefined;
}

/** The same without asking anybody: undefined where somebody must be asked, or where the claim needs a permission. */
export function resolveKnownContext(
  service: Service,
  headers: Pick<Headers, "get">,
  caller: Exclude<Caller, { kind: "server" }>,
  ties: KnownTies,
  claimed: ClaimedContext = {},
): ResolvedContext | undefined {
  const seen = withRequest(service, headers, claimed);
  if (caller.kind === "anonymous") return anonymous(service, seen);
  if (seen.organizationId === undefined && ties.home === "unknown") return undefined;
  const organizationId = (seen.organizationId ?? ties.home) || undefined;
  const tie = organizationId === undefined ? {} : ties.tieTo(organizationId);
  if (tie === undefined || foreignClaims(caller, seen, tie).length > 0) return undefined;
  return asOneself(service, caller, seen, organizationId, tie.role);
}

/** Nobody known: the claim is taken as it is, but opens no organization's flags. */
function anonymous(service: Service, claimed: ClaimedContext): ResolvedContext {
  const fields: string[] = [...IDENTITY, "organizationId" as const].filter(
    (field) => claimed[field] !== undefined,
  );
  if (claimed.attributes?.["organizationRole"] !== undefined) fields.push("attributes.organizationRole");
  if (service.options.identity === "verified" && fields.length > 0) {
    throw new FeatureFlagError(
      "PERMISSION_DENIED",
      `Nobody is signed in, so the context may not say who it is for. Sign in, or leave out ${fields.join(", ")}.`,
      { status: 401, details: { fields } },
    );
  }
  const context = present(claimed);
  return { context, globalContext: context, tenant: NO_TENANT };
}

async function principal(
  service: Service,
  call: Call,
  caller: Principal,
  claimed: ClaimedContext,
): Promise<ResolvedContext> {
  const home = claimed.organizationId === undefined ? await homeOf(call, caller) : undefined;
  const organizationId = (claimed.organizationId ?? home) || undefined;
  const tie = organizationId === undefined ? {} : await tieTo(call, caller, organizationId);
  const foreign = foreignClaims(caller, claimed, tie);
  const role = tie?.role;
  if (foreign.length === 0) return asOneself(service, caller, claimed, organizationId, role);
  const sure = await confirm(call, caller);
  await requireEvaluateAs(service, call, sure, organizationId ?? NO_TENANT, foreign);
  // Evaluating as somebody else takes all of the claim and nothing of the caller but whose flags they are.
  const chosen = service.options.multiTenant === true ? organizationId : claimed.organizationId;
  const claim = resolved(service, claimed, chosen);
  if (await reachesGlobalFlags(service, call, sure, claim.tenant)) return claim;
  const globalContext = present({
    ...claimed,
    ...ownContext(sure),
    organizationId: tie === undefined ? undefined : organizationId,
    attributes: withRole(claimed.attributes, role),
  });
  return { ...claim, globalContext };
}

/** What the claim says that the caller is not. */
function foreignClaims(
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
  if (caller.kind === "user" && claimedRole !== undefined && claimedRole !== tie?.role) {
    foreign.push("attributes.organizationRole");
  }
  return foreign;
}

function asOneself(
  service: Service,
  caller: Principal,
  claimed: ClaimedContext,
  organizationId: string | undefined,
  role: string | undefined,
): ResolvedContext {
  const attributes = caller.kind === "key" ? claimed.attributes : withRole(claimed.attributes, role);
  return resolved(service, { ...claimed, ...ownContext(caller), attributes }, organizationId);
}

/**
 * Whether a claim that was granted for the tenant's flags counts for those of all organizations, too. Anybody may make
 * an organization and be its owner, so what its roles grant ends with it. A key has its actions from the application.
 */
async function reachesGlobalFlags(
  service: Service,
  call: Call,
  caller: Principal,
  tenant: string,
): Promise<boolean> {
  if (tenant === NO_TENANT || caller.kind === "key") return true;
  return (await judge(service, call, caller, "evaluate-as", NO_TENANT)) === "granted";
}

/** The attributes with the member's own role in the organization in place of any other. */
function withRole(attributes: JsonObject | undefined, role: string | undefined): JsonObject | undefined {
  if (role !== undefined) return { ...attributes, organizationRole: role };
  if (attributes === undefined || !Object.hasOwn(attributes, "organizationRole")) return attributes;
  const { organizationRole: _claimed, ...others } = attributes;
  return others;
}

/** What the caller is without claiming anything. A key is not a person. */
function ownContext(caller: Principal): ClaimedContext {
  if (caller.kind === "key") return {};
  const { id, email, role } = caller.user;
  return { userId: id, email, role };
}

async function requireEvaluateAs(
  service: Service,
  call: Call,
  caller: Principal,
  organizationId: string,
  foreign: readonly string[],
): Promise<void> {
  const tenant = service.options.multiTenant === true ? organizationId : NO_TENANT;
  if ((await judge(service, call, caller, "evaluate-as", tenant)) === "granted") return;
  throw new FeatureFlagError(
    "PERMISSION_DENIED",
    `The context claims what the caller is not. Leave out ${foreign.join(", ")}, or grant featureFlag: ["evaluate-as"].`,
    { details: { fields: foreign } },
  );
}

function resolved(
  service: Service,
  claimed: ClaimedContext,
  organizationId: string | undefined,
): ResolvedContext {
  const context = present({ ...claimed, organizationId: organizationId || undefined });
  const tenant = (service.options.multiTenant === true && organizationId) || NO_TENANT;
  return { context, globalContext: context, tenant };
}

function withRequest(
  service: Service,
  headers: Pick<Headers, "get">,
  claimed: ClaimedContext,
): ClaimedContext {
  if (service.options.context?.collect !== true) return claimed;
  return {
    ...claimed,
    device: claimed.device ?? collectDevice(headers),
    geo: claimed.geo ?? collectGeo(headers),
  };
}

/** The context without the fields that nobody filled. */
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
