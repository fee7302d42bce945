/** The users that events are about, and the variants they have: resolved once for each context of a call. */
import { canonicalJson } from "../../model/canonical-json.ts";
import type { ClaimedContext } from "../../model/evaluation.ts";
import { NO_TENANT } from "../../model/flag.ts";
import { storableText } from "../../model/inputs.ts";
import type { Call } from "../call.ts";
import type { Caller } from "../identity/caller.ts";
import type { Service } from "../service.ts";
import { type ResolvedContext, resolveContext } from "./context.ts";
import { findInLayers, type Layer, overrideFor } from "./flags.ts";

/** The user that an event is about. */
export interface EventSubject {
  readonly userId?: string;
  readonly organizationId?: string;
  /** An idempotency key is unique within this scope. */
  readonly scope: readonly [organization: string, sender: string];
  /** The tenant of the flag with this key, and the subject's variant. Neither counted nor an exposure. */
  flag(flagKey: string, nowMs: number): { readonly tenant: string; readonly variant?: string };
}

export interface EventSubjects {
  of(context: ClaimedContext | undefined): Promise<EventSubject>;
}

export async function identifySubjects(call: Call): Promise<EventSubjects> {
  const { service } = call;
  const caller = await call.identity.evaluator();
  const byContext = new Map<string, Promise<EventSubject>>();
  let sender: Promise<EventSubject> | undefined;

  async function resolve(context: ClaimedContext | undefined): Promise<EventSubject> {
    const resolved = await resolveContext(call, caller, { context });
    const layers = await readLayers(service, resolved.tenant);
    return subjectOf(caller, resolved, layers);
  }

  return {
    of(context) {
      if (context === undefined) {
        sender ??= resolve(undefined);
        return sender;
      }
      const key = canonicalJson(context);
      const subject = byContext.get(key) ?? resolve(context);
      byContext.set(key, subject);
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
): EventSubject {
  const { userId, organizationId } = context;
  const seesServerFlags = caller.kind === "server" || caller.kind === "key";
  return {
    ...(userId !== undefined && { userId: storableText(userId) }),
    ...(organizationId !== undefined && { organizationId }),
    scope: [organizationId ?? "", senderOf(caller, userId)],
    flag(flagKey, nowMs) {
      const hit = findInLayers(layers, flagKey, seesServerFlags);
      if (hit === undefined) return { tenant };
      const { layer, found } = hit;
      const layerContext = layer.tenant === NO_TENANT ? globalContext : context;
      const override = overrideFor(layer, found, layerContext, nowMs);
      const { variant } = found.compiled.evaluate(layerContext, override);
      return { tenant: layer.tenant, ...(variant !== undefined && { variant }) };
    },
  };
}

/** An anonymous caller's claim does not count here: it could use up another user's idempotency keys. */
function senderOf(caller: Caller, userId: string | undefined): string {
  if (caller.kind === "anonymous") return "anonymous";
  if (userId !== undefined) return `user:${userId}`;
  if (caller.kind === "key") return `key:${caller.key.id}`;
  if (caller.kind === "user") return `user:${caller.user.id}`;
  return caller.kind satisfies "server";
}
