/** Connections with the node-redis library: to a server, a cluster, or a server behind Sentinels. */
import { hasMethods } from "../../protocol/checks.ts";
import {
  createEnding,
  type MessageListener,
  type RedisAddress,
  type RedisConnection,
  type RedisSource,
} from "./connection.ts";

type Listener = (message: string, channel: string) => void;

/** The members of a node-redis client that are used here. */
interface NodeRedis {
  readonly options?: { readonly socket?: object };
  duplicate(overrides: object): NodeRedis;
  connect(): Promise<unknown>;
  destroy(): unknown;
  on(event: string, listener: (cause?: unknown) => void): unknown;
  subscribe(channels: readonly string[], listener: Listener): Promise<unknown>;
  sSubscribe(channel: string, listener: Listener): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  sUnsubscribe(channel: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  sPublish(channel: string, message: string): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
}

interface NodeRedisCluster extends Omit<NodeRedis, "duplicate" | "sendCommand"> {
  duplicate(overrides: object): NodeRedisCluster;
  readonly masters: readonly unknown[];
  nodeClient(node: unknown): Promise<NodeRedis>;
}

interface NodeRedisSentinel extends Omit<NodeRedis, "duplicate" | "sendCommand"> {
  duplicate(overrides: object): NodeRedisSentinel;
  getMasterNode(): { readonly host: string; readonly port: number } | undefined;
  /** Not documented, but the only way to the settings of the nodes: `getMasterNode` returns an address without them. */
  _execute<T>(isReadonly: false, use: (node: NodeRedis) => Promise<T>): Promise<T>;
}

/** The client must not reconnect by itself: `Reconnector` does that, and reports the gap. */
const NO_RECONNECT = { disableOfflineQueue: true, pingInterval: 0, keyPrefix: "" };

export function nodeRedisSource(client: unknown): RedisSource | undefined {
  if (!hasMethods<NodeRedis>(client, "duplicate", "connect", "destroy", "sSubscribe", "sPublish"))
    return undefined;
  if (hasMethods<NodeRedisCluster>(client, "nodeClient")) return clusterSource(client);
  if (hasMethods<NodeRedisSentinel>(client, "getMasterNode")) return sentinelSource(client);
  return clientSource(client);
}

function clientSource(client: NodeRedis): RedisSource {
  return {
    isCluster: false,
    open: (listener) => connect(duplicateWithoutReconnect(client), listener),
    slots: () => Promise.reject(new Error("a single server has no slots")),
  };
}

/**
 * Asks the Sentinels for the master and connects to it directly. A Sentinel client itself repeats commands forever while
 * there is no master, and once closed it does so without yielding to the event loop.
 */
function sentinelSource(client: NodeRedisSentinel): RedisSource {
  if (!hasMethods<NodeRedisSentinel>(client, "_execute")) {
    throw new TypeError(
      "redisPubSub() cannot use Sentinels with this version of redis, because it does not give access to the master's client. Install redis 6.3, or pass a client of ioredis.",
    );
  }
  return {
    isCluster: false,
    async open(listener) {
      const sentinel = client.duplicate({ maxCommandRediscovers: 1 });
      sentinel.on("error", () => undefined);
      try {
        await sentinel.connect();
        const master = await sentinel._execute(false, async (node) => node);
        return await requireMaster(await connect(duplicateWithoutReconnect(master), listener));
      } finally {
        void destroyQuietly(sentinel);
      }
    },
    slots: () => Promise.reject(new Error("a Sentinel has no slots")),
  };
}

/** A former master still accepts publishes, but its messages reach no subscriber. */
async function requireMaster(connection: RedisConnection): Promise<RedisConnection> {
  const role = await connection.command("ROLE").catch(() => undefined);
  if (Array.isArray(role) && String(role[0]) === "master") return connection;
  connection.destroy();
  throw new Error("the Sentinels named a server that is not the master");
}

function clusterSource(client: NodeRedisCluster): RedisSource {
  /** A client of one node; all nodes have the same settings. */
  let template: NodeRedis | undefined;
  return {
    isCluster: true,
    async open(listener, address) {
      if (template === undefined) throw new Error("no node of the Redis Cluster has replied yet");
      return connect(duplicateWithoutReconnect(template, address), listener);
    },
    async slots() {
      const cluster = client.duplicate({ minimizeConnections: true });
      cluster.on("error", () => undefined);
      try {
        await cluster.connect();
        template = await cluster.nodeClient(cluster.masters[0]);
        return await template.sendCommand(["CLUSTER", "SLOTS"]);
      } finally {
        cluster.destroy();
      }
    },
  };
}

function duplicateWithoutReconnect(client: NodeRedis, address?: RedisAddress): NodeRedis {
  return client.duplicate({
    ...NO_RECONNECT,
    socket: { ...client.options?.socket, ...address, reconnectStrategy: false },
  });
}

/** Closing a closed client throws (redis 5) or rejects (Sentinel); both are ignored. */
async function destroyQuietly(client: Pick<NodeRedis, "destroy">): Promise<void> {
  try {
    await client.destroy();
  } catch {
    // It was closed already.
  }
}

async function connect(client: NodeRedis, listener: MessageListener): Promise<RedisConnection> {
  const { ended, end } = createEnding();
  let isOpen = false;
  client.on("error", (cause) => end(cause instanceof Error ? cause.message : "the connection failed"));
  for (const event of ["end", "terminated", "reconnecting", "sharded-channel-moved"])
    client.on(event, (cause) =>
      end(cause instanceof Error ? cause.message : `the client reported "${event}"`),
    );
  const destroy = (): void => {
    end("the connection was closed");
    void destroyQuietly(client);
  };
  try {
    await Promise.race([
      client.connect(),
      ended.then((reason) => {
        if (!isOpen) throw new Error(reason);
      }),
    ]);
    isOpen = true;
  } catch (error) {
    destroy();
    throw error;
  }
  const onMessage: Listener = (message, channel) => listener(channel, message);
  return {
    ended,
    destroy,
    subscribe: (channels, isSharded) =>
      isSharded
        ? Promise.all(channels.map((channel) => client.sSubscribe(channel, onMessage)))
        : client.subscribe(channels, onMessage),
    unsubscribe: (channel, isSharded) =>
      isSharded ? client.sUnsubscribe(channel) : client.unsubscribe(channel),
    publish: (channel, message, isSharded) =>
      isSharded ? client.sPublish(channel, message) : client.publish(channel, message),
    command: (...args) => client.sendCommand(args),
  };
}
