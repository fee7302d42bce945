/** Entry point `@halyard/wire/nats`. */
export { type BrokerOptions, BrokerPubSub } from "./pubsub/broker.ts";
export type {
  AppendFailure,
  AppendOptions,
  AppendResult,
  History,
  HistoryItem,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
} from "./pubsub/history.ts";
export type { NatsConnection } from "./pubsub/nats/connection.ts";
export { type NatsPubSubOptions, natsPubSub } from "./pubsub/nats/pubsub.ts";
export type {
  CarryOptions,
  PublishFailure,
  PublishResult,
  PubSub,
  PubSubStatus,
  Subscriber,
} from "./pubsub/pubsub.ts";
