/** Checks of the application's code that only a development build has. */
import { checkOptionNames } from "../protocol/option-names.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { typeOf } from "./inbound.ts";
import type { ClientOptions } from "./options.ts";

// Bundlers replace it. A page without a bundler has none.
declare const process: { readonly env: { readonly NODE_ENV?: string } };

interface Development {
  /** Throws a `TypeError` for options that do not exist. */
  options(options: ClientOptions): void;
  /** Throws a `TypeError` for a message that the channel does not declare. */
  event(channel: AnyChannel, schema: AnyMessageSchema): void;
}

const checks: Development = {
  options: (options) =>
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
  event({ pattern, events }, schema) {
    const type = typeOf(schema);
    if (!events.some((event) => event.type === type))
      throw new TypeError(
        `${type} is not an event of the channel "${pattern}". Declare it in events, or use the on() of the client.`,
      );
  },
};

/** Undefined in a production build, which does not contain the checks. */
let development: Development | undefined;
try {
  // A bundler that replaces `process.env.NODE_ENV` with `"production"` removes the checks.
  if (process.env.NODE_ENV !== "production") development = checks;
} catch {
  // A page without a bundler has no `process`.
}

export { development };
