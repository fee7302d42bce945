/** Connections made with node-redis: a client, a cluster or a Sentinel. */
import {
  ending,
  type Heard,
  isLike,
  type RedisAddress,
  type RedisConnection,
  type RedisSource,
} from "./redis-connection.ts";

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
  acquire(): unknown;
  /** The one way to the client of the master. */
  _execute<T>(isReadonly: false, use: (node: NodeRedis) => Promise<T>): Promise<T>;
}

/** Opens once and never again by itself: opening again, and saying what was missed, is ours. */
const ONCE = { disableOfflineQueue: true, pingInterval: 0, keyPrefix: "" };

export function nodeRedisSource(client: unknown): RedisSource | undefined {
  if (!isLike<NodeRedis>(client, "duplicate", "connect", "destroy", "sSubscribe", "sPublish"))
    return undefined;
  if (isLike<NodeRedisCluster>(client, "nodeClient")) return clusterSource(client);
  if (isLike<NodeRedisSentinel>(client, "acquire", "_execute")) return sentinelSource(client);
  return clientSource(client);
}

function clientSource(client: NodeRedis): RedisSource {
  return {
    isCluster: false,
    open: (heard) => connect(once(client), heard),
    slots: () => Promise.reject(new Error("a single server has no slots")),
  };
}

/**
 * Finds the master, and connects to it alone. Commands given to a Sentinel client itself are tried again for ever while
 * there is no master, after it was closed even without letting anything else run.
 */
function sentinelSource(client: NodeRedisSentinel): RedisSource {
  return {
    isCluster: false,
    async open(heard) {
      const sentinel = client.duplicate({ maxCommandRediscovers: 1 });
      sentinel.on("error", () => undefined);
      try {
        await sentinel.connect();
        const master = await sentinel._execute(false, async (node) => node);
        return await asMaster(await connect(once(master), heard));
      } finally {
        void destroyQuietly(sentinel);
      }
    },
    slots: () => Promise.reject(new Error("a Sentinel has no slots")),
  };
}

/** A server that was the master a moment ago would take a publish, too, and nobody would hear it. */
async function asMaster(connection: RedisConnection): Promise<RedisConnection> {
  const role = await connection.command("ROLE").catch(() => undefined);
  if (Array.isArray(role) && String(role[0]) === "master") return connection;
  connection.destroy();
  throw new Error("the server that the Sentinels name is not the master");
}

function clusterSource(client: NodeRedisCluster): RedisSource {
  /** A client of one node, whose settings are those of all. */
  let template: NodeRedis | undefined;
  return {
    isCluster: true,
    async open(heard, address) {
      if (template === undefined) throw new Error("no node of the cluster has answered yet");
      return connect(once(template, address), heard);
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

function once(client: NodeRedis, address?: RedisAddress): NodeRedis {
  return client.duplicate({
    ...ONCE,
    socket: { ...client.options?.socket, ...address, reconnectStrategy: false },
  });
}

/** One that is closed already says so with an error, thrown by redis 5 and rejected by a Sentinel: all the better. */
async function destroyQuietly(client: Pick<NodeRedis, "destroy">): Promise<void> {
  try {
    await client.destroy();
  } catch {
    // It is closed.
  }
}

async function connect(client: NodeRedis, heard: Heard): Promise<RedisConnection> {
  const { ended, end } = ending();
  let isOpen = false;
  client.on("error", (cause) => end(cause instanceof Error ? cause.message : "the connection failed"));
  for (const event of ["end", "terminated", "reconnecting", "sharded-channel-moved"])
    client.on(event, (cause) => end(cause instanceof Error ? cause.message : `the client says "${event}"`));
  const destroy = (): void => {
    end("it was closed");
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
  const listener: Listener = (message, channel) => heard(channel, message);
  return {
    ended,
    destroy,
    subscribe: (channels, isSharded) =>
      isSharded
        ? Promise.all(channels.map((channel) => client.sSubscribe(channel, listener)))
        : client.subscribe(channels, listener),
    unsubscribe: (channel, isSharded) =>
      isSharded ? client.sUnsubscribe(channel) : client.unsubscribe(channel),
    publish: (channel, message, isSharded) =>
      isSharded ? client.sPublish(channel, message) : client.publish(channel, message),
    command: (...args) => client.sendCommand(args),
  };
}
