/** Entry point `@halyard/wire`: the router, its types, and schemas of any Standard Schema library. */
export type { ChannelPublishOptions, ChannelTarget } from "./channels/channel-target.ts";
export type { ChannelHandlers, ChannelHooks, ChannelVerdict, PresenceHooks } from "./channels/handlers.ts";
export {
  type AnyErrorCode,
  ERROR_CODES,
  type ErrorClass,
  type ErrorCode,
  type ErrorCodeInfo,
  type ErrorDetails,
  type ErrorPayload,
  WsError,
  type WsErrorOptions,
} from "./protocol/error.ts";
export type * from "./pubsub/history.ts";
export { MemoryPubSub, type MemoryPubSubOptions } from "./pubsub/memory.ts";
export type * from "./pubsub/pubsub.ts";
export type { DurableRouteOptions } from "./router/calls/durable-route.ts";
export type { DisconnectMatch, DisconnectOptions } from "./router/connections/disconnect.ts";
export type {
  AskOptions,
  ConnectionData,
  Peer,
  SendOutcome,
  ServerContext,
  SharedFrame,
  SharedWriter,
  Socket,
  SocketEvents,
} from "./router/connections/peer.ts";
export type {
  CloseContext,
  ConnectionContext,
  ErrorContext,
  ErrorOptions,
  EventContext,
  FailOptions,
  MessageMeta,
  Middleware,
  MiddlewareContext,
  OpenContext,
  PublishOptions,
  RpcContext,
  SendOptions,
  SendProgress,
  Topics,
} from "./router/context.ts";
export type { Server } from "./router/contracts.ts";
export type { EventHandler, RouteBuilder, RpcHandler, RpcResult } from "./router/handlers.ts";
export type {
  AuthHook,
  AuthorizeTopic,
  CloseHook,
  ErrorHook,
  LimitExceededInfo,
  LimitHook,
  OpenHook,
} from "./router/hooks.ts";
export type { Declarations, ServerObserver } from "./router/observer.ts";
export type { HeartbeatOptions, Platform, RouterOptions } from "./router/options.ts";
export { createRouter, type Router } from "./router/router.ts";
export type { ServerCounters } from "./router/server/counters.ts";
export type { Metrics, ObservedBus, ServerFigures } from "./router/server/metrics.ts";
export type { AcceptOptions, BroadcastMessage, ServerOptions } from "./router/server/server-options.ts";
export type { AbsentMember, AbsentMembers } from "./router/topics/absent-members.ts";
export {
  createPublisher,
  type PublisherOptions,
  type TopicPublisher,
} from "./router/topics/standalone-publisher.ts";
export type { MessageArguments } from "./schema/arguments.ts";
export { live, type ParamNames } from "./schema/build-channel.ts";
export { type BytesOptions, bytes } from "./schema/bytes.ts";
export type * from "./schema/channel.ts";
export type * from "./schema/declared-errors.ts";
export type * from "./schema/message.ts";
export {
  channel,
  message,
  rpc,
  type StandardChannelOptions,
  type StandardConfig,
  type StandardJson,
} from "./schema/standard.ts";
export type { PlainSchema, StandardIssue, StandardResult, StandardSchema } from "./schema/standard-schema.ts";
export type { OpenStream, Stream, StreamCall, StreamHost, StreamOutcome } from "./schema/stream.ts";
export type { Validator } from "./schema/validate.ts";
