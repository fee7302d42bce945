/** The one topic's way to all servers, without a library of ours: straight, or through a broker. */
import type { PubSub } from "@halyard/wire";

type Heard = (text: string) => void;
type Publish = (text: string) => unknown;

const CHANNEL = "room:general";
const SUBJECT = "room.general";

// Loaded on demand, so that no server holds a library in memory that it does not use.
const buses: Readonly<Record<string, (url: string, heard: Heard) => Promise<Publish>>> = {
  redis: async (url, heard) => {
    const { createClient } = await import("redis");
    const speaking = await createClient({ url }).connect();
    const listening = await speaking.duplicate().connect();
    await listening.subscribe(CHANNEL, heard);
    return (text) => speaking.publish(CHANNEL, text);
  },
  nats: async (url, heard) => {
    const { connect } = await import("@nats-io/transport-node");
    const connection = await connect({ servers: url });
    connection.subscribe(SUBJECT, { callback: (_, message) => heard(message.string()) });
    await connection.flush();
    return (text) => connection.publish(SUBJECT, text);
  },
};

/** What a server by hand publishes with; without a broker it hears itself at once. */
export async function chooseBus(
  broker: string | undefined,
  url: string | undefined,
  heard: Heard,
): Promise<Publish> {
  if (broker === undefined) return heard;
  return choose(buses, broker)(address(url), heard);
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

/** Halyard's pub/sub over the same. */
export function choosePubSub(broker: string, url: string | undefined): Promise<PubSub> {
  return choose(pubsubs, broker)(address(url));
}

function choose<Value>(table: Readonly<Record<string, Value>>, broker: string): Value {
  const value = table[broker];
  if (value === undefined)
    throw new Error(`Give the broker as argument: ${Object.keys(table).join(" or ")}.`);
  return value;
}

function address(url: string | undefined): string {
  if (url === undefined) throw new Error("Give the broker's URL as the last argument.");
  return url;
}
