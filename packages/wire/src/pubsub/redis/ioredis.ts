/** Connections with the ioredis library: to a server, a cluster, or a server behind Sentinels. */
import { hasMethods } from "../../protocol/checks.ts";
import { createEnding, type MessageListener, type RedisConnection, type RedisSource } from "./connection.ts";

/** The members of an ioredis client that are used here. */
interface Ioredis {
  duplicate(overrides: object): Ioredis;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end" | "moved", listener: () => void): unknown;
  on(event: "message" | "smessage", listener: MessageListener): unknown;
  subscribe(...channels: string[]): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  spublish(channel: string, message: string): Promise<unknown>;
  call(command: string, ...args: string[]): Promise<unknown>;
}

interface IoredisCluster {
  readonly isCluster: boolean;
  duplicate(startupNodes: readonly unknown[], overrides: object): IoredisCluster;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  nodes(role: "master"): readonly Ioredis[];
  cluster(command: "SLOTS"): Promise<unknown>;
}

/** The client must not reconnect by itself: `Reconnector` does that, and reports the gap. */
const NO_RECONNECT = {
  lazyConnect: true,
  retryStrategy: null,
  sentinelRetryStrategy: () => null,
  reconnectOnError: null,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  enableAutoPipelining: true,
  keyPrefix: "",
};

export function ioredisSource(client: unknown): RedisSource | undefined {
  if (!hasMethods<Ioredis>(client, "duplicate", "connect", "disconnect", "ssubscribe", "spublish", "call"))
    return undefined;
  if (hasMethods<IoredisCluster>(client, "nodes") && client.isCluster) return clusterSource(client);
  return {
    isCluster: false,
    open: (listener) => connect(client.duplicate(NO_RECONNECT), listener),
    slots: () => Promise.reject(new Error("a single server has no slots")),
  };
}

function clusterSource(client: IoredisCluster): RedisSource {
  /** A client of one node; all nodes have the same settings. */
  let template: Ioredis | undefined;
  return {
    isCluster: true,
    async open(listener, address) {
      if (template === undefined) throw new Error("no node of the Redis Cluster has replied yet");
      return connect(template.duplicate({ ...NO_RECONNECT, ...address, readOnly: false }), listener);
    },
    async slots() {
      const cluster = client.duplicate([], { lazyConnect: true, clusterRetryStrategy: () => null });
      cluster.on("error", () => undefined);
      try {
        await cluster.connect();
        template = cluster.nodes("master")[0] ?? template;
        return await cluster.cluster("SLOTS");
      } finally {
        cluster.disconnect();
      }
    },
  };
}

async function connect(client: Ioredis, listener: MessageListener): Promise<RedisConnection> {
  const { ended, end } = createEnding();
  let failure = "the connection was closed";
  client.on("error", (error) => {
    failure = error.message;
  });
  client.on("end", () => end(failure));
  client.on("moved", () => end("a channel has moved to another node"));
  client.on("message", listener);
  client.on("smessage", listener);
  const destroy = (): void => {
    end("the connection was closed");
    client.disconnect();
  };
  try {
    await client.connect();
  } catch (error) {
    destroy();
    throw error;
  }
  return {
    ended,
    destroy,
    subscribe: (channels, isSharded) =>
      isSharded
        ? Promise.all(channels.map((channel) => client.ssubscribe(channel)))
        : client.subscribe(...channels),
    unsubscribe: (channel, isSharded) =>
      isSharded ? client.sunsubscribe(channel) : client.unsubscribe(channel),
    publish: (channel, message, isSharded) =>
      isSharded ? client.spublish(channel, message) : client.publish(channel, message),
    command: (name, ...args) => client.call(name, ...args),
  };
}
