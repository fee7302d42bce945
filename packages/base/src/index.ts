/** Entry point `@halyard/base`: time, ids and the contract of a bus, which run everywhere. */

export { type Awaitable, chain } from "./awaitable.ts";
export { type Bus, type BusListener, packMessages } from "./bus.ts";
export { type Clock, later, systemClock } from "./clock.ts";
export { type BusPubSub, type BusSubscriber, pubSubBus } from "./pubsub-bus.ts";
export { uuidv7 } from "./uuid.ts";
export { ignore, pause, RETRY_MS, type WithinOptions, within } from "./waits.ts";
