/** Entry point `@halyard/wire/nats`. */
export { type BrokerOptions, BrokerPubSub } from "./pubsub/broker.ts";
export type * from "./pubsub/history.ts";
export type { NatsConnection } from "./pubsub/nats/connection.ts";
export { type NatsPubSubOptions, natsPubSub } from "./pubsub/nats/pubsub.ts";
export type * from "./pubsub/pubsub.ts";
