/** Entry point `@halyard/wire/client`. */
export type { Gap, Position } from "../protocol/control.ts";
export type {
  AnyErrorCode,
  ErrorCode,
  ErrorDetails,
  ErrorPayload,
  WsError,
  WsErrorOptions,
} from "../protocol/error.ts";
export type { MessageArguments } from "../schema/arguments.ts";
export type * from "../schema/channel.ts";
export type * from "../schema/declared-errors.ts";
export type * from "../schema/message.ts";
export type { StandardIssue, StandardResult, StandardSchema } from "../schema/standard-schema.ts";
export type { OpenStream, Stream, StreamCall, StreamHost, StreamOutcome } from "../schema/stream.ts";
export { attachCall, type CallOptions, type DurableCall, startCall } from "./calls.ts";
export type { ChannelRoom, JoinOptions, RoomState } from "./channel-room.ts";
export { joinChannel } from "./channels.ts";
export { wsClient } from "./client.ts";
export type { ClientState } from "./connection.ts";
export type { SocketLike } from "./environment.ts";
export type { ClientErrorContext, StateInfo } from "./failures.ts";
export { type HandleContext, handle } from "./handle.ts";
export type { Inbound as UnhandledMessage } from "./inbound.ts";
export type * from "./options.ts";
export type { RequestPromise } from "./progress.ts";
export type { SessionState, WsClient } from "./ws-client.ts";
