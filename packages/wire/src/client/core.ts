/** What functions beside the client, such as `joinChannel()`, use of it. Not public: a page without them does not pay for them. */
import type { ControlType } from "../protocol/control.ts";
import type { Meta } from "../protocol/envelope.ts";
import type { Environment } from "./environment.ts";
import type { errorIn, failure } from "./failures.ts";
import type { Inbox, Intercept, Report } from "./inbox.ts";
import type { ClientOptions } from "./options.ts";
import { text } from "./texts.ts";
import type { WsClient } from "./ws-client.ts";

export interface ClientCore {
  readonly options: ClientOptions;
  readonly environment: Environment;
  readonly report: Report;
  /** Reports an error that a callback of the application threw. */
  readonly thrown: (error: unknown) => void;
  readonly inbox: Inbox;
  /** The meta of the frame still has its reserved keys. */
  readonly intercepts: Set<Intercept>;
  /** The payload of the last hello; its fields are not trusted. */
  readonly hello: () => Record<string, unknown> | undefined;
  /** From here, so that an entry point that is loaded beside the client does not contain it again. */
  readonly failure: typeof failure;
  readonly errorIn: typeof errorIn;
  /** Sends a control frame; false without an open connection. */
  sendControl(...frame: ControlArguments): boolean;
}

type ControlArguments = [type: ControlType, payload?: object, meta?: Meta];

/** Written by `createClient()`. Tuples: the names of their members would be in every bundle. */
export const cores: WeakMap<
  WsClient,
  readonly [
    options: ClientOptions,
    environment: Environment,
    report: Report,
    thrown: ClientCore["thrown"],
    inbox: Inbox,
    intercepts: Set<Intercept>,
    hello: ClientCore["hello"],
    send: (...frame: ControlArguments) => void,
    failure: ClientCore["failure"],
    errorIn: ClientCore["errorIn"],
  ]
> = new WeakMap();

export function coreOf(client: WsClient): ClientCore {
  const core = cores.get(client);
  if (!core) throw new TypeError(text("client"));
  const [options, environment, report, thrown, inbox, intercepts, hello, send, failure, errorIn] = core;
  const sendControl = (...frame: ControlArguments): boolean => {
    send(...frame);
    return client.isConnected;
  };
  return { options, environment, report, thrown, inbox, intercepts, hello, failure, errorIn, sendControl };
}
