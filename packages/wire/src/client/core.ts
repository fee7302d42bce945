/** What functions beside the client, such as `joinChannel()`, use of it. Not public: a page without them does not pay for them. */
import type { ControlType } from "../protocol/control.ts";
import type { Meta } from "../protocol/envelope.ts";
import type { Environment } from "./environment.ts";
import type { Handlers, Intercept, Report } from "./inbox.ts";
import type { ClientOptions } from "./options.ts";
import type { WsClient } from "./ws-client.ts";

export interface ClientCore {
  readonly options: ClientOptions;
  readonly environment: Environment;
  readonly report: Report;
  /** Reports an error that a callback of the application threw. */
  readonly thrown: (error: unknown) => void;
  /** Handlers of messages that an intercept took. */
  readonly createHandlers: () => Handlers;
  /** The meta of the frame still has its reserved keys. */
  readonly intercepts: Set<Intercept>;
  /** The ids of this client's last connections, newest last. */
  readonly clientIds: readonly unknown[];
  /** Sends a control frame; false without an open connection. */
  sendControl(type: ControlType, payload?: object, meta?: Meta): boolean;
}

/** Written by `createClient()`. */
export const cores: WeakMap<WsClient, ClientCore> = new WeakMap();

export function coreOf(client: WsClient): ClientCore {
  const core = cores.get(client);
  if (core) return core;
  throw new TypeError("The first argument is not a client of wire. Pass what wsClient() returned.");
}
