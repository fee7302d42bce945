/**
 * Topics kept by the platform's engine as well, so that a publish is one call however many subscribers there are.
 * The engine drops per socket without saying which, so slow connections are taken off it and served here until they drain.
 */
import type { Connection } from "./connection.ts";
import type { SharedFrame } from "./peer.ts";
import type { Server } from "./server.ts";
import { Timeout } from "./timers.ts";

const SWEEP_MS = 100;

/** Publishes to every socket that is subscribed in the engine. */
export type NativePublish = (topic: string, frame: string) => void;

export class NativeTopics {
  readonly #server: Server;
  readonly #publish: NativePublish;
  /** Connections taken off the engine. */
  readonly #slow = new Set<Connection>();
  readonly #sweepTimer = new Timeout(() => this.#sweep());
  /** Published to one topic since the last sweep, at most: what a single socket may have had to take unseen. */
  #unseenBytes = 0;

  constructor(server: Server, publish: NativePublish) {
    this.#server = server;
    this.#publish = publish;
  }

  join(connection: Connection, topic: string): void {
    if (!this.#slow.has(connection)) connection.socket.subscribe?.(topic);
  }

  leave(connection: Connection, topic: string): void {
    connection.socket.unsubscribe?.(topic);
  }

  /** Gives the number of members the frame was handed to. */
  publish(members: ReadonlySet<Connection>, frame: SharedFrame, excludeClientId: string | undefined): number {
    const excluded = excludeClientId === undefined ? undefined : find(members, excludeClientId);
    let handed = excluded === undefined ? members.size : members.size - 1;
    if (excluded === undefined || this.#slow.has(excluded)) this.#publish(frame.topic, frame.text);
    else excluded.socket.publish?.(frame.topic, frame.text);
    for (const connection of this.#slow) {
      if (connection !== excluded && members.has(connection) && !connection.deliver(frame)) handed--;
    }
    this.#unseenBytes += frame.text.length;
    this.#server.buffers.grew(frame.text.length * handed);
    if (this.#sweepTimer.slot === -1) this.#server.timers.add(this.#sweepTimer, SWEEP_MS);
    return handed;
  }

  /** The connection reads again. */
  drained(connection: Connection): void {
    if (!this.#slow.delete(connection)) return;
    for (const topic of connection.topics ?? []) connection.socket.subscribe?.(topic);
  }

  /** Whether the engine may have closed a socket for its backlog: it does so without a word. */
  mayHaveClosed(): boolean {
    return this.#unseenBytes > this.#server.options.socketBufferLimitBytes;
  }

  forget(connection: Connection): void {
    this.#slow.delete(connection);
  }

  #sweep(): void {
    this.#unseenBytes = 0;
    for (const connection of this.#server.connections) {
      if (!connection.isSlow || this.#slow.has(connection)) continue;
      this.#slow.add(connection);
      for (const topic of connection.topics ?? []) connection.socket.unsubscribe?.(topic);
    }
  }
}

function find(members: ReadonlySet<Connection>, clientId: string): Connection | undefined {
  for (const connection of members) if (connection.clientId === clientId) return connection;
  return undefined;
}
