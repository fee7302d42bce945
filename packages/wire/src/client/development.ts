/** Checks of the application's code that only a development build has. */
import { checkOptionNames } from "../protocol/option-names.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { typeOf } from "./inbound.ts";
import type { ClientOptions } from "./options.ts";
import type { WsClient } from "./ws-client.ts";

// Bundlers replace it. A page without a bundler has none.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** When a provider received a client. */
export interface Provided {
  readonly client: WsClient;
  readonly at: number;
}

/** This many clients of one provider within this time are a mistake, in ms. */
const MANY_CLIENTS = 3;
const SHORT_TIME_MS = 5_000;

const warned = new Set<string>();

function warnOnce(text: string): void {
  if (!warned.has(text)) console.warn(`[halyard] ${text}`);
  warned.add(text);
}

const checks = {
  /** Called by each provider with a list of its own; warns when its client changes again and again. */
  provided(own: Provided[], client: WsClient): void {
    if (own.at(-1)?.client === client) return;
    const at = Date.now();
    own.push({ client, at });
    if (own.length > MANY_CLIENTS) own.shift();
    if (own.length === MANY_CLIENTS && at - (own[0]?.at ?? 0) < SHORT_TIME_MS)
      warnOnce(
        `WireProvider received ${MANY_CLIENTS} different clients within ${SHORT_TIME_MS / 1_000} s. A component creates the client while it renders, and each new one connects again. Create it once, outside of components.`,
      );
  },
  /** Tells that the request of a component ended with it. */
  unmounted: (type: string): void =>
    warnOnce(
      `${type} was cancelled, because its component unmounted. Leave out cancelOnUnmount to let such a request finish.`,
    ),
  /** Throws a `TypeError` for options that do not exist. */
  options: (options: ClientOptions): void =>
    checkOptionNames<ClientOptions>("wsClient()", options, {
      url: true,
      protocols: true,
      reconnect: { enabled: true, maxAttempts: true, initialDelayMs: true, maxDelayMs: true, jitter: true },
      queue: true,
      queueSize: true,
      autoConnect: true,
      pendingRequestsLimit: true,
      auth: { getToken: true, attach: true, queryParam: true, protocolPrefix: true, protocolPosition: true },
      unknownKeys: true,
      wsFactory: true,
    }),
  /** Throws a `TypeError` for a message that the channel does not declare. */
  event({ pattern, events }: AnyChannel, schema: AnyMessageSchema): void {
    const type = typeOf(schema);
    if (!events.some((event) => event.type === type))
      throw new TypeError(
        `${type} is not an event of the channel "${pattern}". Declare it in events, or use the on() of the client.`,
      );
  },
};

/** Undefined in a production build, which does not contain the checks. */
let development: typeof checks | undefined;
try {
  // A bundler that replaces `process.env.NODE_ENV` with `"production"` removes the checks.
  if (process.env.NODE_ENV !== "production") development = checks;
} catch {
  // A page without a bundler has no `process`.
}

export { development };
