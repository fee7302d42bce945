/** The interface of one connection to a Redis server, implemented for each client library. */
import type { ReconnectableConnection } from "../reconnector.ts";

/** Sharded channels, as in a cluster, use `SSUBSCRIBE` and `SPUBLISH` in place of `SUBSCRIBE` and `PUBLISH`. */
export interface RedisConnection extends ReconnectableConnection {
  /** Resolves once every channel is confirmed. Sharded channels are subscribed one by one, because their slots differ. */
  subscribe(channels: readonly string[], isSharded: boolean): Promise<unknown>;
  unsubscribe(channel: string, isSharded: boolean): Promise<unknown>;
  publish(channel: string, message: string, isSharded: boolean): Promise<unknown>;
  /** Any other command. */
  command(name: string, ...args: string[]): Promise<unknown>;
}

/** Called with every message received on a connection. */
export type MessageListener = (channel: string, message: string) => void;

/** The address of a cluster node. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** Opens connections with the settings of the application's client, without using that client itself. */
export interface RedisSource {
  readonly isCluster: boolean;
  /** Connects to the server, or to one node of the cluster. Rejects when it cannot connect. */
  open(listener: MessageListener, address?: RedisAddress): Promise<RedisConnection>;
  /** In a cluster: the reply to `CLUSTER SLOTS` of any node. */
  slots(): Promise<unknown>;
}

/** A promise of the reason why a connection ended; the first call of `end` decides. */
export function createEnding(): { readonly ended: Promise<string>; end(reason: string): void } {
  let end: (reason: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}
