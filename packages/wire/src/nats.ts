export { BrokerPubSub } from "./pubsub/broker.ts";
export { type NatsPubSubOptions, natsPubSub } from "./pubsub/nats.ts";
export type { NatsConnection } from "./pubsub/nats-transport.ts";
