/** Connections with Bun's built-in Redis client, to a single server. */
import { hasMethods } from "../../protocol/checks.ts";
import { createEnding, type MessageListener, type RedisConnection, type RedisSource } from "./connection.ts";

/** The members of Bun's client that are used here. */
interface BunRedis {
  readonly connected: boolean;
  onclose: ((error?: unknown) => void) | null;
  onconnect: (() => void) | null;
  duplicate(): Promise<BunRedis>;
  connect(): Promise<unknown>;
  close(): void;
  subscribe(
    channels: readonly string[],
    listener: (message: string, channel: string) => void,
  ): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  send(command: string, args: readonly string[]): Promise<unknown>;
}

/** The client reconnects without reporting the loss, so its state is checked at this interval. */
const CHECK_EVERY_MS = 50;
const CONNECT_TIMEOUT_MS = 1_500;

export function bunRedisSource(client: unknown): RedisSource | undefined {
  if (!hasMethods<BunRedis>(client, "duplicate", "connect", "close", "subscribe", "publish", "send"))
    return undefined;
  if (!("onclose" in client)) return undefined;
  return {
    isCluster: false,
    open: (listener) => connect(client, listener),
    slots: () => Promise.reject(new Error("Bun's Redis client does not support clusters")),
  };
}

async function connect(original: BunRedis, listener: MessageListener): Promise<RedisConnection> {
  const client = await original.duplicate();
  const { ended, end } = createEnding();
  const destroy = (): void => {
    end("the connection was closed");
    clearInterval(checking);
    client.close();
  };
  const checking = setInterval(() => {
    if (isOpen && !client.connected) end("the connection was lost");
    if (!isOpen && performance.now() > giveUpAt) end("the server could not be reached");
  }, CHECK_EVERY_MS);
  (checking as { unref?: () => void }).unref?.();
  const giveUpAt = performance.now() + CONNECT_TIMEOUT_MS;
  let isOpen = client.connected;
  client.onclose = (error) => end(error instanceof Error ? error.message : "the connection was closed");
  client.onconnect = () => {
    if (isOpen) end("the connection was replaced by another one");
  };
  try {
    const failed = ended.then((reason) => Promise.reject(new Error(reason)));
    failed.catch(() => undefined);
    if (!isOpen) await Promise.race([client.connect(), failed]);
    isOpen = true;
  } catch (error) {
    destroy();
    throw error;
  }
  return {
    ended,
    destroy,
    subscribe: (channels) => client.subscribe(channels, (message, channel) => listener(channel, message)),
    unsubscribe: (channel) => client.unsubscribe(channel),
    publish: (channel, message) => client.publish(channel, message),
    command: (name, ...args) => client.send(name, args),
  };
}
