/** The users that events are about, and the variants they have: resolved once for each context of a call. */
import type { Caller } from "@halyard/sessions/plugin";
import type { EvaluationContext } from "../../engine/definition.ts";
import { canonicalJson } from "../../model/canonical-json.ts";
import { FeatureFlagError } from "../../model/errors.ts";
import type { ClaimedContext } from "../../model/evaluation.ts";
import { invalid, storableText } from "../../model/inputs.ts";
import { storableId } from "../../store/events/ids.ts";
import type { Call } from "../call.ts";
import type { Service } from "../service.ts";
import { subjectFor } from "./assignment.ts";
import { contextCall, type ResolvedContext, resolveContext } from "./context.ts";
import { findInLayers, layersOf, overrideFor } from "./flags.ts";
import type { Layer, LayerContext, Layers } from "./layer.ts";
import { withTrusted } from "./trusted-subject.ts";

/** An idempotency key is unique within this scope. */
export type EventScope = readonly [organization: string, sender: string];

/** The user that an event is about. */
interface EventUser {
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly organizationId?: string;
  readonly environment?: string;
  readonly scope: EventScope;
}

/** What an event about one flag is stored with. */
export interface FlagSubject extends EventUser {
  readonly tenant: string;
  readonly variant?: string;
  /** Absent if the flag does not exist. */
  readonly flagId?: string;
  /** The id of the flag's unit; absent if the event lacks it, empty if the caller cannot be a subject. */
  readonly subject?: string;
}

/** The users that events with the same context are about. */
export interface EventSubject {
  readonly scope: EventScope;
  /**
   * The tenant of the flag with this key, the user of an event about it, and the user's variant. A claim that an
   * organization granted does not count for global flags. Neither counted nor an exposure. Throws for an anonymous
   * caller without a flag that exists: anyone could fill the tables with keys and names.
   */
  flag(flagKey: string | undefined, nowMs: number): FlagSubject;
}

export interface EventSubjects {
  of(context: ClaimedContext | undefined, environment?: string): Promise<EventSubject>;
}

export async function identifySubjects(call: Call): Promise<EventSubjects> {
  const { service } = call;
  const caller = await call.identity.evaluator();
  const byContext = new Map<string, Promise<EventSubject>>();
  let sender: Promise<EventSubject> | undefined;

  async function resolve(context: ClaimedContext | undefined, environment?: string): Promise<EventSubject> {
    const resolved = await resolveContext(contextCall(call), caller, { context, environment });
    const layers = await withTrusted(service, await readLayers(service, resolved.layers));
    return subjectOf(caller, resolved, layers);
  }

  return {
    of(context, environment) {
      if (context === undefined && environment === undefined) {
        sender ??= resolve(undefined);
        return sender;
      }
      const key = `${JSON.stringify(environment ?? "")} ${canonicalJson(context ?? {})}`;
      const subject = byContext.get(key) ?? resolve(context, environment);
      byContext.set(key, subject);
      return subject;
    },
  };
}

async function readLayers(service: Service, [first, global]: Layers<LayerContext>): Promise<Layers<Layer>> {
  if (global === undefined) return [await readLayer(service, first)];
  return layersOf(...(await Promise.all([readLayer(service, first), readLayer(service, global)])));
}

async function readLayer({ store }: Service, layer: LayerContext): Promise<Layer> {
  const { snapshot } = await store.snapshot(layer.tenant);
  return { ...layer, snapshot };
}

function subjectOf(
  caller: Caller,
  { layers: [{ tenant, subject: whose }], seesServerFlags }: ResolvedContext,
  layers: Layers<Layer>,
): EventSubject {
  const [first, global] = layers;
  const user = userOf(caller, first.context);
  const globalUser =
    global === undefined || global.context === first.context ? user : userOf(caller, global.context);
  return {
    scope: user.scope,
    flag(flagKey, nowMs) {
      if (flagKey === undefined) {
        if (caller.kind === "anonymous")
          throw invalid([{ path: "flagKey", message: "is required without a session" }]);
        return { tenant, ...user };
      }
      const hit = findInLayers(layers, flagKey, seesServerFlags);
      if (hit === undefined) {
        if (caller.kind === "anonymous") throw new FeatureFlagError("FLAG_NOT_FOUND");
        return { tenant, ...user };
      }
      const { layer, found } = hit;
      const { variant } = found.compiled.evaluate(
        layer.context,
        overrideFor(layer, found, layer.context, nowMs),
      );
      const subject = subjectFor(found, layer.context, { caller, subject: whose });
      return {
        tenant: layer.tenant,
        ...(layer === first ? user : globalUser),
        ...(variant !== undefined && { variant }),
        flagId: found.flag.id,
        ...(subject !== undefined && { subject }),
      };
    },
  };
}

function userOf(caller: Caller, context: EvaluationContext): EventUser {
  const { userId, anonymousId, organizationId, environment } = context;
  return {
    ...(userId !== undefined && { userId: storableText(userId) }),
    ...(anonymousId !== undefined && { anonymousId: storableId(anonymousId) }),
    ...(organizationId !== undefined && { organizationId }),
    ...(environment !== undefined && { environment: storableText(environment) }),
    scope: [organizationId ?? "", senderOf(caller, userId)],
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
