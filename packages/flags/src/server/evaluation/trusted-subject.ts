/** Whose trusted attributes an evaluation reads, and which of them the caller may claim or look up. */
import { type Awaitable, chain } from "@halyard/base";
import type { Caller, Principal } from "@halyard/sessions/plugin";
import type { TrustedRoot } from "../../engine/definition.ts";
import { TRUSTED_ROOTS } from "../../engine/path.ts";
import type { ClaimedContext } from "../../model/evaluation.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { Snapshot } from "../../store/flag-store.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import type { Service } from "../service.ts";
import {
  type TrustedClaims,
  type TrustedSubject,
  type TrustedValues,
  withClaims,
} from "../trusted/trusted-attributes.ts";
import type { Layer, Layers } from "./layer.ts";

/** The trusted roots that the context of a visitor or a user claims. Without the option they are ignored. */
export function claimedRoots({ trusted }: Service, claimed: ClaimedContext): readonly TrustedRoot[] {
  return trusted === undefined ? [] : rootsClaimed(claimed);
}

/** The trusted roots that the context claims. */
export function rootsClaimed(claimed: ClaimedContext): readonly TrustedRoot[] {
  return TRUSTED_ROOTS.filter((root) => claimed[root] !== undefined);
}

/** The trusted attributes that the context claims, if any. */
export function claimsOf(claimed: ClaimedContext): TrustedClaims | undefined {
  const { user, session, organization, trusted } = claimed;
  const isNone =
    user === undefined && session === undefined && organization === undefined && trusted === undefined;
  return isNone ? undefined : { user, session, organization, trusted };
}

/** The user and the organization that the caller names, which it may. */
export function claimedSubject(claimed: ClaimedContext, organizationId: string | undefined): TrustedSubject {
  const { userId } = claimed;
  return {
    userId: userId || undefined,
    organizationId: organizationId || undefined,
    claims: claimsOf(claimed),
    isVerified: false,
  };
}

/** The caller itself. An API key is not a user. */
export function ownSubject(caller: Principal, organizationId: string | undefined): TrustedSubject {
  if (caller.kind === "key") return { organizationId, isVerified: true };
  const { id, sessionToken } = caller.user;
  return { userId: id, sessionToken, organizationId, isVerified: true };
}

/**
 * The subject as far as an organization's role may look it up. Any user may create an organization and own it, so its
 * owner learns nothing about users who are not its members.
 */
export async function withinOrganization(
  { service, identity }: Call,
  subject: TrustedSubject,
  organizationId: string,
): Promise<TrustedSubject> {
  if (service.trusted === undefined) return subject;
  const isMember =
    subject.userId === undefined || (await identity.roleIn(subject.userId, organizationId)) !== undefined;
  const isOwn = subject.organizationId === undefined || subject.organizationId === organizationId;
  return isMember && isOwn ? subject : withheld(subject);
}

function withheld({ claims, isVerified }: TrustedSubject): TrustedSubject {
  return { claims, isVerified, isWithheld: true };
}

/** The subject of an explanation, which needs `read` only: looking up attributes of others needs `evaluate-as`. */
export async function explainedSubject(
  call: Call,
  caller: Exclude<Caller, { kind: "anonymous" }>,
  tenant: string,
  claimed: ClaimedContext,
): Promise<TrustedSubject> {
  const subject = claimedSubject(claimed, claimed.organizationId);
  if (call.service.trusted === undefined || caller.kind === "server") return subject;
  if ((await judge(call, caller, "evaluate-as", NO_TENANT)) === "granted") return subject;
  if (tenant === NO_TENANT || (await judge(call, caller, "evaluate-as", tenant)) !== "granted") {
    return withheld(subject);
  }
  const isOfServer = caller.kind === "key" && !caller.key.isPersonal;
  return isOfServer ? subject : withinOrganization(call, subject, tenant);
}

/** Roots of all flags, by snapshot. */
const rootsBySnapshot = new WeakMap<Snapshot, ReadonlySet<TrustedRoot>>();

function rootsIn([first, second]: Layers<Layer>, flagKey?: string): ReadonlySet<TrustedRoot> {
  const roots = rootsOf(first.snapshot, flagKey);
  if (second === undefined) return roots;
  const others = rootsOf(second.snapshot, flagKey);
  if (others.size === 0) return roots;
  return roots.size === 0 ? others : new Set([...roots, ...others]);
}

const NONE: ReadonlySet<TrustedRoot> = new Set();

function rootsOf(snapshot: Snapshot, flagKey: string | undefined): ReadonlySet<TrustedRoot> {
  if (flagKey !== undefined) return snapshot.flags.get(flagKey)?.compiled.trustedRoots ?? NONE;
  let roots = rootsBySnapshot.get(snapshot);
  if (roots === undefined) {
    roots = new Set([...snapshot.flags.values()].flatMap(({ compiled }) => [...compiled.trustedRoots]));
    rootsBySnapshot.set(snapshot, roots);
  }
  return roots;
}

/**
 * The layers with the trusted attributes that the rules read: those of the flag with this key, or of all flags.
 * Synchronous while the attributes are in memory. Never rejects.
 */
export function withTrusted(
  service: Service,
  layers: Layers<Layer>,
  flagKey?: string,
): Awaitable<Layers<Layer>> {
  const [first, global] = layers;
  const { subject } = first;
  if (subject === undefined || (service.trusted === undefined && subject.claims === undefined)) return layers;
  const roots = rootsIn(layers, flagKey);
  if (roots.size === 0) return layers;
  const read = withRoots(service, first, roots);
  if (global === undefined) return chain(read, (own): Layers<Layer> => [own]);
  // Both layers have one context and one subject, unless an organization granted a claim.
  if (global.subject === subject && global.context === first.context)
    return chain(read, (own): Layers<Layer> => [own, { ...global, context: own.context }]);
  const readGlobal = withRoots(service, global, roots);
  return chain(read, (own) => chain(readGlobal, (other): Layers<Layer> => [own, other]));
}

/** The context with the attributes of these roots. */
export function withRoots<One extends Pick<Layer, "context" | "subject">>(
  service: Service,
  given: One,
  roots: ReadonlySet<TrustedRoot>,
): Awaitable<One> {
  const { context, subject } = given;
  if (subject === undefined || roots.size === 0) return given;
  return chain(valuesOf(service, subject, roots), (values) => ({
    ...given,
    context: { ...context, ...values },
  }));
}

function valuesOf(
  { trusted }: Service,
  subject: TrustedSubject,
  roots: ReadonlySet<TrustedRoot>,
): Awaitable<TrustedValues> {
  if (trusted !== undefined) return trusted.read(subject, roots);
  // Without the option, nothing is looked up. Server code may still claim.
  return subject.claims === undefined ? NO_VALUES : withClaims(NO_VALUES, subject.claims);
}

const NO_VALUES: TrustedValues = {};
