/** The path of the topic to all servers without our library: direct, or through a broker. */
import type { PubSub } from "@halyard/wire";

type Deliver = (text: string) => void;
type Publish = (text: string) => unknown;

const CHANNEL = "room:general";
const SUBJECT = "room.general";

// Loaded on demand, so that a server does not hold an unused library in memory.
const buses: Readonly<Record<string, (url: string, deliver: Deliver) => Promise<Publish>>> = {
  redis: async (url, deliver) => {
    const { createClient } = await import("redis");
    const speaking = await createClient({ url })
      .on("error", () => {})
      .connect();
    const listening = await speaking.duplicate().connect();
    await listening.subscribe(CHANNEL, deliver);
    return (text) => speaking.publish(CHANNEL, text);
  },
  nats: async (url, deliver) => {
    const { connect } = await import("@nats-io/transport-node");
    const connection = await connect({ servers: url });
    connection.subscribe(SUBJECT, { callback: (_, message) => deliver(message.string()) });
    await connection.flush();
    return (text) => connection.publish(SUBJECT, text);
  },
};

/** The publisher of a server by hand. Without a broker it delivers directly. */
export async function chooseBus(
  broker: string | undefined,
  url: string | undefined,
  deliver: Deliver,
): Promise<Publish> {
  if (broker === undefined) return deliver;
  return choose(buses, broker)(address(url), deliver);
}

const pubsubs: Readonly<Record<string, (url: string) => Promise<PubSub>>> = {
  redis: async (url) => {
    const { redisPubSub } = await import("@halyard/wire/redis");
    const { createClient } = await import("redis");
    return redisPubSub(createClient({ url }));
  },
  nats: async (url) => {
    const { natsPubSub } = await import("@halyard/wire/nats");
    const { connect } = await import("@nats-io/transport-node");
    return natsPubSub(await connect({ servers: url }));
  },
};

/** Halyard's pub/sub over the same broker. */
export function choosePubSub(broker: string, url: string | undefined): Promise<PubSub> {
  return choose(pubsubs, broker)(address(url));
}

function choose<Value>(table: Readonly<Record<string, Value>>, broker: string): Value {
  const value = table[broker];
  if (value === undefined)
    throw new Error(`Pass the broker as argument: ${Object.keys(table).join(" or ")}.`);
  return value;
}

function address(url: string | undefined): string {
  if (url === undefined) throw new Error("Pass the broker's URL as the last argument.");
  return url;
}
