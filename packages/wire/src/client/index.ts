export type { Gap } from "../protocol/control.ts";
export { wsClient } from "./client.ts";
export type { SocketLike } from "./environment.ts";
export type { ClientErrorContext } from "./failures.ts";
export type { Inbound as UnhandledMessage } from "./inbound.ts";
export type { ClientState } from "./link.ts";
export type {
  AuthOptions,
  ClientOptions,
  CloseOptions,
  ReconnectOptions,
  RequestOptions,
  SendOptions,
} from "./options.ts";
export type { RequestPromise } from "./progress.ts";
export type { WsClient } from "./ws-client.ts";
