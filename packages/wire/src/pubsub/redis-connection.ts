/** A connection of our own to one Redis server, whichever client library it is made with. */
import type { Kept } from "./keeper.ts";

/** Channels of a cluster are sharded: `SSUBSCRIBE` and `SPUBLISH` in place of `SUBSCRIBE` and `PUBLISH`. */
export interface RedisConnection extends Kept {
  /** Resolves once all are confirmed. Sharded channels of different slots are asked for one by one. */
  subscribe(channels: readonly string[], isSharded: boolean): Promise<unknown>;
  unsubscribe(channel: string, isSharded: boolean): Promise<unknown>;
  publish(channel: string, message: string, isSharded: boolean): Promise<unknown>;
  /** Any other command. */
  command(name: string, ...args: string[]): Promise<unknown>;
}

/** Called with what comes in on a connection. */
export type Heard = (channel: string, message: string) => void;

/** A node of a cluster. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** Opens connections with the settings of a client that the application made; that client itself is left alone. */
export interface RedisSource {
  readonly isCluster: boolean;
  /** Connects to the server, or to one node of the cluster. Rejects when it cannot. */
  open(heard: Heard, address?: RedisAddress): Promise<RedisConnection>;
  /** Of a cluster: the reply to `CLUSTER SLOTS`, from any node that answers. */
  slots(): Promise<unknown>;
}

/** Tells once that a connection is of no more use. */
export function ending(): { readonly ended: Promise<string>; end(reason: string): void } {
  let end: (reason: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}

/** Clients are known by their methods: nothing of their libraries is loaded. */
export function isLike<Client extends object>(
  value: unknown,
  ...methods: (keyof Client & string)[]
): value is Client {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");
}
