/** Who events of a call are about, and which variant they have of a flag: found out once for each context. */
import { canonicalJson } from "../model/canonical-json.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import { NO_TENANT } from "../model/flag.ts";
import { storableText } from "../model/inputs.ts";
import type { Call } from "./call.ts";
import { type Caller, identifyEvaluator } from "./caller.ts";
import { type ResolvedContext, resolveContext } from "./context.ts";
import { resolveEnvironment } from "./environment.ts";
import { findFlag, type Layer } from "./flags-read.ts";
import type { Service } from "./service.ts";

/** One who events are about. */
export interface EventSubject {
  readonly userId?: string;
  readonly organizationId?: string;
  /** Within which an idempotency key is one and the same. */
  readonly scope: readonly [organization: string, who: string];
  /** Whose flag the key names for the subject, and which variant it evaluates to. Neither counted nor an exposure. */
  flag(flagKey: string, nowMs: number): { readonly tenant: string; readonly variant?: string };
}

export interface EventSubjects {
  of(context: ClaimedContext | undefined): Promise<EventSubject>;
}

export async function identifySubjects(service: Service, call: Call): Promise<EventSubjects> {
  const caller = await identifyEvaluator(call);
  const environment = resolveEnvironment(call, caller, service.options, undefined);
  const known = new Map<string, Promise<EventSubject>>();
  let own: Promise<EventSubject> | undefined;

  async function resolve(context: ClaimedContext | undefined): Promise<EventSubject> {
    const resolved = await resolveContext(service, call, caller, context);
    const layers = await readLayers(service, resolved.tenant);
    return subjectOf(caller, resolved, layers, environment.name);
  }

  return {
    of(context) {
      if (context === undefined) {
        own ??= resolve(undefined);
        return own;
      }
      const key = canonicalJson(context);
      const subject = known.get(key) ?? resolve(context);
      known.set(key, subject);
      return subject;
    },
  };
}

async function readLayers(service: Service, tenant: string): Promise<Layer[]> {
  if (tenant === NO_TENANT) return [await readLayer(service, NO_TENANT)];
  return Promise.all([readLayer(service, tenant), readLayer(service, NO_TENANT)]);
}

async function readLayer({ store }: Service, tenant: string): Promise<Layer> {
  const { snapshot } = store.peek(tenant) ?? (await store.snapshot(tenant));
  return { tenant, snapshot };
}

function subjectOf(
  caller: Caller,
  { context, globalContext, tenant }: ResolvedContext,
  layers: readonly Layer[],
  environment: string | undefined,
): EventSubject {
  const { userId, organizationId } = context;
  const seesServerFlags = caller.kind === "server" || caller.kind === "key";
  return {
    ...(userId !== undefined && { userId: storableText(userId) }),
    ...(organizationId !== undefined && { organizationId }),
    scope: [organizationId ?? "", whoOf(caller, userId)],
    flag(flagKey, nowMs) {
      const hit = findFlag(layers, flagKey, seesServerFlags);
      if (hit === undefined) return { tenant };
      const { layer, found } = hit;
      const own = layer.tenant === NO_TENANT ? globalContext : context;
      const inEnvironment = environment === undefined ? own : { ...own, environment };
      const override =
        own.userId === undefined ? undefined : layer.snapshot.override(found.flag.id, own.userId, nowMs);
      const { variant } = found.compiled.evaluate(inEnvironment, override);
      return { tenant: layer.tenant, ...(variant !== undefined && { variant }) };
    },
  };
}

/** What an anonymous caller claims to be counts for nothing here: it could use up the keys of somebody else. */
function whoOf(caller: Caller, userId: string | undefined): string {
  if (caller.kind === "anonymous") return "anonymous";
  if (userId !== undefined) return `user:${userId}`;
  if (caller.kind === "key") return `key:${caller.key.id}`;
  return caller.kind === "user" ? `user:${caller.user.id}` : "server";
}
