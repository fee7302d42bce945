/**
 * Topics in the platform's engine (Bun), so that a publish is one call for any number of subscribers. The engine drops
 * frames to slow sockets without a report, so slow connections are unsubscribed there and served here until they drain.
 */

import { Timeout } from "../../time/timers.ts";
import type { SharedFrame } from "../connections/peer.ts";
import type { Connection, Server } from "../contracts.ts";
import type { NativePublish } from "../server/server-options.ts";
import { topicsOf } from "./topics.ts";

const SWEEP_MS = 100;

export class NativeTopics {
  readonly #server: Server;
  readonly #publish: NativePublish;
  /** Slow connections, which are not subscribed in the engine. */
  readonly #slow = new Set<Connection>();
  readonly #sweepTimer = new Timeout(() => this.#sweep());
  /** Bytes published since the last sweep: the most that one socket may have buffered unnoticed. */
  #uncheckedBytes = 0;
  /** Stays false with `bunPubSub()`, which publishes in the engine itself and cannot serve unsubscribed connections. */
  #hasPublished = false;

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

  /** Returns the number of members that the frame was sent to. */
  publish(members: ReadonlySet<Connection>, frame: SharedFrame, excludeClientId: string | undefined): number {
    this.#hasPublished = true;
    const excluded = excludeClientId === undefined ? undefined : find(members, excludeClientId);
    let delivered = excluded === undefined ? members.size : members.size - 1;
    if (excluded === undefined || this.#slow.has(excluded)) this.#publish(frame.topic, frame.text);
    else excluded.socket.publish?.(frame.topic, frame.text);
    for (const connection of this.#slow) {
      if (connection !== excluded && members.has(connection) && !connection.deliver(frame)) delivered--;
    }
    this.#uncheckedBytes += frame.text.length;
    this.#server.buffers.grew(frame.text.length * delivered);
    if (this.#uncheckedBytes > this.#server.options.socketBufferLimitBytes) this.#sweep();
    if (this.#sweepTimer.slot === -1) this.#server.timers.add(this.#sweepTimer, SWEEP_MS);
    return delivered;
  }

  /** The connection is no longer slow: subscribes it in the engine again. */
  drained(connection: Connection): void {
    if (!this.#slow.delete(connection)) return;
    for (const topic of topicsOf(connection)) connection.socket.subscribe?.(topic);
  }

  remove(connection: Connection): void {
    this.#slow.delete(connection);
  }

  /** The connection has too many unsent bytes: unsubscribes it in the engine until it drains. */
  slow(connection: Connection): void {
    if (!this.#hasPublished || this.#slow.has(connection)) return;
    this.#slow.add(connection);
    for (const topic of topicsOf(connection)) connection.socket.unsubscribe?.(topic);
  }

  #sweep(): void {
    this.#uncheckedBytes = 0;
    for (const connection of this.#server.connections) if (connection.isSlow) this.slow(connection);
  }
}

function find(members: ReadonlySet<Connection>, clientId: string): Connection | undefined {
  for (const connection of members) if (connection.clientId === clientId) return connection;
  return undefined;
}
