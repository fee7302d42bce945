/** Mounts live flags on a wire router: subscriptions of connections, and the sessions behind them. */
import { type AuthInstance, followCaller, type SessionCaller } from "@halyard/sessions";
import { followedTokenOf, type KnownTies } from "@halyard/sessions/plugin";
import type { ConnectionData, OpenContext, Router, RpcContext } from "@halyard/wire";
import { FeatureFlagError } from "../model/errors.ts";
import type { BootstrapFeatureFlagsInput } from "../model/evaluation.ts";
import { parseBootstrapInput } from "../model/evaluation-input.ts";
import { exceedsJsonBytes, overLimit } from "../model/inputs.ts";
import { NO_POSITION } from "../model/position.ts";
import { secretsOf } from "../server/evaluation/exposure-tokens.ts";
import { withHelp } from "../server/help.ts";
import type { HostContext } from "../server/http/host-request.ts";
import { WITHOUT_ADDRESS } from "../server/limits/admit.ts";
import type { LimitPrincipal } from "../server/limits/limits.ts";
import { ruleFor } from "../server/limits/rules.ts";
import { loggable } from "../server/metrics/loggable.ts";
import { rarely } from "../server/metrics/rarely.ts";
import { serviceFinderOf } from "../server/plugin.ts";
import type { Service } from "../server/service.ts";
import { LiveFeed, type Resume } from "./live-feed.ts";
import { type LivePosition, Subscribe, Subscribed, type SubscribeInput, Unsubscribe } from "./messages.ts";
import { createTags } from "./session-tag.ts";
import { type LiveCaller, type Sender, Subscriber } from "./subscriber.ts";
import { mountWatches } from "./watches.ts";

/** The part of an auth instance that live flags use. */
export type LiveAuth = AuthInstance & {
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
};

/** Live flags on a router, returned by `liveFlags()`. */
export interface LiveFlags {
  /** The number of subscribed connections of this process. */
  readonly size: number;
  /** Ends all subscriptions. Connections stay open. */
  close(): void;
}

/** In bytes as JSON. A subscription keeps its context in memory. */
const MAX_CONTEXT_BYTES = 4096;

interface Opened {
  readonly service: Service;
  readonly context: HostContext;
  readonly feed: LiveFeed;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Pushes changed flag values to the connections of a router, which `betterAuthSession` authenticates. Each session gets
 * only its own values, and only those that changed. A sign-out, and every change of a role, a membership or the active
 * organization, counts at once. Clients subscribe with `featureFlagsLiveClient()`.
 *
 * @example
 * ```ts
 * import { featureFlags } from "@halyard/flags";
 * import { liveFlags } from "@halyard/flags/live";
 * import { createRouter } from "@halyard/wire";
 * import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
 * import { serve } from "@halyard/wire/node";
 * import { betterAuth } from "better-auth";
 *
 * const auth = betterAuth({ plugins: [featureFlags()] });
 * const router = createRouter<SessionData>();
 * liveFlags(router, auth);
 * await serve(router, { port: 3001, authenticate: betterAuthSession(auth) });
 * ```
 */
export function liveFlags<Data extends ConnectionData>(router: Router<Data>, auth: LiveAuth): LiveFlags {
  const serviceOf = serviceFinderOf(auth, "liveFlags");
  const contexts = new WeakMap<object, OpenContext<Data>>();
  const subscribers = new WeakMap<object, Subscriber>();
  /** Connections that were closed, perhaps while their subscription waits for the database. */
  const closed = new WeakSet<object>();
  let opened: Opened | undefined;
  let isClosed = false;

  async function open(): Promise<Opened> {
    const context = (await auth.$context) as HostContext;
    const service = serviceOf({ context });
    const [secret = ""] = secretsOf(context);
    // An outage concerns every connection, and must not write a line for each of them.
    const warn = rarely((message, error) => context.logger.warn(withHelp(message), loggable(error)));
    opened = { service, context, warn, feed: new LiveFeed({ service, tagOf: createTags(secret), warn }) };
    if (isClosed) opened.feed.close();
    return opened;
  }

  function end(connection: object): void {
    const subscriber = subscribers.get(connection);
    subscribers.delete(connection);
    if (subscriber !== undefined) opened?.feed.remove(subscriber);
  }

  const watches = mountWatches(
    router,
    () => opening,
    (connection) => contexts.get(connection),
  );

  async function subscribe(ctx: RpcContext<typeof Subscribe, Data>): Promise<void> {
    const { service, feed } = await opening;
    const { ws, payload } = ctx;
    const { sessionId, userId, address } = ctx.data as CallerData;
    const isUser = typeof sessionId === "string";
    const id = isUser ? String(userId) : address;
    const principal: LimitPrincipal =
      typeof id === "string" ? { kind: isUser ? "user" : "address", id } : { kind: "nobody" };
    await countSubscription(service, principal);
    const input = inputOf(service, payload);
    if (closed.has(ws)) return;
    end(ws);
    const sender: Sender = contexts.get(ws) ?? ctx;
    const subscriber = new Subscriber(sender, payload.id, input, ANONYMOUS);
    subscribers.set(ws, subscriber);
    if (isUser) await followSession(service, feed, subscriber, sessionId);
    // The connection may have been closed, or subscribed again.
    if (subscribers.get(ws) !== subscriber || subscriber.isClosed) return feed.remove(subscriber);
    try {
      await feed.add(subscriber, resumeOf(payload));
    } catch (error) {
      if (subscribers.get(ws) === subscriber) end(ws);
      throw error;
    }
  }

  async function followSession(
    service: Service,
    feed: LiveFeed,
    subscriber: Subscriber,
    sessionId: string,
  ): Promise<void> {
    const token = service.trusted === undefined ? undefined : await followedTokenOf(auth, sessionId);
    const stop = await followCaller(
      auth,
      { sessionId },
      {
        current(caller) {
          subscriber.who = whoOf(caller, token);
        },
        changed({ current }) {
          feed.change(subscriber, whoOf(current, token));
        },
        ended: () => feed.remove(subscriber),
      },
    );
    if (subscriber.isClosed) stop();
    else subscriber.stop = stop;
  }

  // At once, so that plans know who is online. Every subscription reports a failure.
  const opening = open();
  opening.catch(() => undefined);
  router.onOpen((ctx) => void contexts.set(ctx.ws, ctx));
  router.onClose((ctx) => {
    closed.add(ctx.ws);
    watches.end(ctx.ws);
    end(ctx.ws);
  });
  router.on(Unsubscribe, (ctx) => end(ctx.ws));
  router.rpc(Subscribe, async (ctx) => {
    try {
      await subscribe(ctx);
      ctx.reply(Subscribed);
    } catch (error) {
      if (!(error instanceof FeatureFlagError)) opened?.warn("A subscription to flags failed.", error);
      const { code, message, details } = FeatureFlagError.wrap(error, "EVALUATION_ERROR");
      ctx.error(WIRE_CODES[code] ?? "UNAVAILABLE", message, details);
    }
  });
  return {
    get size() {
      return opened?.feed.size ?? 0;
    },
    close() {
      isClosed = true;
      watches.close();
      opened?.feed.close();
    },
  };
}

/** All others may succeed later. */
const WIRE_CODES: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: "INVALID_ARGUMENT",
  PERMISSION_DENIED: "PERMISSION_DENIED",
  RATE_LIMIT_EXCEEDED: "RESOURCE_EXHAUSTED",
};

const NO_TIES: KnownTies = { home: undefined, tieTo: () => undefined };
const ANONYMOUS: LiveCaller = { caller: { kind: "anonymous" }, ties: NO_TIES };

function whoOf(session: SessionCaller, sessionToken: string | undefined): LiveCaller {
  const { userId, sessionId, role, organizationId, organizationRole, impersonatedBy, user } = session;
  return {
    caller: {
      kind: "user",
      user: {
        id: userId,
        email: String(user["email"] ?? ""),
        ...(role !== undefined && { role }),
        ...(organizationId !== undefined && { activeOrganizationId: organizationId }),
        ...(impersonatedBy !== undefined && { impersonatedBy }),
        sessionId,
        ...(sessionToken !== undefined && { sessionToken }),
      },
    },
    ties: {
      home: organizationId,
      tieTo: (id) =>
        id === organizationId
          ? { ...(organizationRole !== undefined && { role: organizationRole }) }
          : undefined,
    },
  };
}

/** The fields that `betterAuthSession` gives to connections. */
interface CallerData {
  readonly userId?: unknown;
  readonly sessionId?: unknown;
  readonly address?: unknown;
}

/** A subscription costs as much as a bootstrap, so it counts as one. */
async function countSubscription(
  { limits, meter, warnOnce }: Service,
  principal: LimitPrincipal,
): Promise<void> {
  if (limits === undefined) return;
  if (principal.kind === "nobody") warnOnce(WITHOUT_ADDRESS);
  const rule = ruleFor("bootstrap", principal);
  const verdict = await limits.consume(rule, principal);
  if (verdict.allowed) return;
  meter.limited(rule);
  throw new FeatureFlagError("RATE_LIMIT_EXCEEDED", undefined, {
    details: { retryAfterMs: verdict.retryAfterSeconds * 1000 },
  });
}

function inputOf({ options }: Service, payload: SubscribeInput): BootstrapFeatureFlagsInput {
  const { id, context, environment, exposures } = payload;
  if (!Number.isSafeInteger(id))
    throw new FeatureFlagError("VALIDATION_ERROR", "A subscription needs a number as its id.");
  if (options.context?.collect === true)
    throw new FeatureFlagError(
      "VALIDATION_ERROR",
      "Live flags do not see the headers that context.collect reads. Turn it off, or let clients poll.",
    );
  if (context !== undefined && exceedsJsonBytes(context, MAX_CONTEXT_BYTES))
    throw overLimit(
      "The context of a subscription has too many bytes as JSON.",
      MAX_CONTEXT_BYTES,
      "Send only the attributes that rules use.",
    );
  return parseBootstrapInput({
    includeDisabled: true,
    select: ["value", "variant", "reason"],
    position: NO_POSITION,
    ...(context !== undefined && { context }),
    ...(environment !== undefined && { environment }),
    ...(exposures !== undefined && { exposures }),
  });
}

function resumeOf({ tag, at }: SubscribeInput): Resume | undefined {
  return typeof tag === "string" && isPosition(at) ? { tag, at } : undefined;
}

function isPosition(at: unknown): at is LivePosition {
  return (
    Array.isArray(at) &&
    at.length <= 3 &&
    at.every((revision) => Number.isSafeInteger(revision) && revision >= 0)
  );
}
