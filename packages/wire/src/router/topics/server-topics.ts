/** The topics of a running server: which connections get their frames, and the server's subscriptions at the pub/sub. */
import type { ControlType } from "../../protocol/control.ts";
import { isApplicationFrame } from "../../protocol/envelope.ts";
import { WsError } from "../../protocol/error.ts";
import type { HistoryPosition } from "../../pubsub/history.ts";
import type { Subscriber } from "../../pubsub/pubsub.ts";
import type { SharedFrame } from "../connections/peer.ts";
import type { Connection, Server, TopicWatcher } from "../contracts.ts";
import { attempt, pendingOf } from "../pending.ts";
import type { ServerOptions } from "../server/server-options.ts";
import { BrokerGaps } from "./broker-gap.ts";
import type { NativeTopics } from "./native-topics.ts";

export class ServerTopics implements Subscriber {
  /** The connections of each topic. */
  readonly members: Map<string, Set<Connection>> = new Map();
  readonly #server: Server;
  readonly #native: NativeTopics | undefined;
  readonly #adapter: ServerOptions;
  readonly #gaps: BrokerGaps;
  /** Subscriptions that the pub/sub has not confirmed yet, by topic. */
  readonly #joining = new Map<string, Promise<unknown>>();
  readonly #watchers = new Map<string, TopicWatcher>();

  constructor(server: Server, native: NativeTopics | undefined, adapter: ServerOptions) {
    this.#server = server;
    this.#native = native;
    this.#adapter = adapter;
    this.#gaps = new BrokerGaps(server.clock);
  }

  /** The connection is gone. */
  forget(connection: Connection): void {
    this.#native?.remove(connection);
    this.#gaps.remove(connection);
    for (const topic of connection.topics ?? []) void this.unsubscribe(connection, topic);
  }

  subscribe(connection: Connection, topic: string): void | Promise<void> {
    this.#native?.join(connection, topic);
    this.#adapter.sharedWriter?.regroup(topic);
    const members = this.members.get(topic);
    if (members !== undefined) {
      members.add(connection);
      // During a broker outage, the subscription is confirmed again.
      if (this.#server.brokerStatus?.connected === false && !this.#joining.has(topic)) this.#join(topic);
    } else {
      this.members.set(topic, new Set([connection]));
      this.#join(topic);
    }
    return this.confirmed(topic);
  }

  confirmed(topic: string): Promise<void> | undefined {
    return this.#joining.get(topic)?.then(
      () => undefined,
      (error: unknown) => {
        throw WsError.wrap(
          error,
          "UNAVAILABLE",
          "The pub/sub did not confirm the subscription to the topic. Retry later.",
        );
      },
    );
  }

  /** Connections that subscribe before the confirmation wait for the same promise. */
  #join(topic: string): void {
    const joined = pendingOf(attempt(() => this.#server.pubsub.subscribe(topic, this)));
    if (joined === undefined) return;
    this.#joining.set(topic, joined);
    const settled = () => {
      if (this.#joining.get(topic) === joined) this.#joining.delete(topic);
    };
    joined.then(settled, settled);
  }

  unsubscribe(connection: Connection, topic: string): void | Promise<void> {
    if (connection.isOpen) this.#native?.leave(connection, topic);
    this.#adapter.sharedWriter?.regroup(topic);
    const members = this.members.get(topic);
    if (!members?.delete(connection) || members.size > 0 || this.#watchers.has(topic)) return;
    return this.#unsubscribe(topic);
  }

  #unsubscribe(topic: string): void | Promise<void> {
    this.members.delete(topic);
    const left = pendingOf(attempt(() => this.#server.pubsub.unsubscribe(topic, this)));
    return left?.then(
      () => undefined,
      (error: unknown) => this.#server.reportOutside(error),
    );
  }

  watch(topic: string, watcher: TopicWatcher): Promise<void> | undefined {
    this.#watchers.set(topic, watcher);
    if (!this.members.has(topic)) {
      this.members.set(topic, new Set());
      this.#join(topic);
    }
    return this.confirmed(topic);
  }

  unwatch(topic: string): void {
    this.#watchers.delete(topic);
    if (this.memberCount(topic) === 0) void this.#unsubscribe(topic);
  }

  memberCount(topic: string): number {
    return this.members.get(topic)?.size ?? 0;
  }

  deliver(
    topic: string,
    frame: string,
    excludeClientId: string | undefined,
    position?: HistoryPosition,
  ): number {
    const watcher = this.#watchers.get(topic);
    if (watcher !== undefined && position !== undefined)
      return watcher.deliver(frame, excludeClientId, position);
    // A member that reads too slowly for a frame that is not kept misses no frame of the history, so it gets no gap.
    const fallBehind = watcher && this.#drop;
    const delivered = this.broadcast({ topic, text: frame, encoded: undefined, fallBehind }, excludeClientId);
    return watcher === undefined ? delivered : delivered + watcher.deliverLive(frame, excludeClientId);
  }

  readonly #drop = (): void => {
    this.#server.counters.shed++;
  };

  broadcast(frame: SharedFrame, excludeClientId?: string): number {
    const members = this.members.get(frame.topic);
    const delivered = members === undefined ? 0 : this.#sendToMembers(members, frame, excludeClientId);
    const { onBroadcast } = this.#adapter;
    if (onBroadcast !== undefined)
      void pendingOf(attempt(() => onBroadcast(JSON.parse(frame.text), frame.topic)))?.catch(
        (error: unknown) => this.#server.reportOutside(error),
      );
    return delivered;
  }

  sendToMembers(topic: string, type: ControlType, payload: object): void {
    const members = this.members.get(topic) ?? [];
    for (const connection of members) if (connection.greets) connection.send(type, payload);
  }

  #sendToMembers(members: Set<Connection>, frame: SharedFrame, excludeClientId: string | undefined): number {
    this.#gaps.flush(members);
    if (this.#native !== undefined) return this.#native.publish(members, frame, excludeClientId);
    if (excludeClientId === undefined && this.#adapter.sharedWriter?.follow(frame, members.size)) {
      this.#server.buffers.grew(frame.text.length * members.size);
      return members.size;
    }
    let delivered = 0;
    for (const connection of members) {
      if (excludeClientId !== undefined && connection.clientId === excludeClientId) continue;
      if (!connection.deliver(frame)) continue;
      delivered++;
      this.#server.buffers.grew(frame.text.length);
    }
    return delivered;
  }

  accepts(frame: string): boolean {
    return isApplicationFrame(frame);
  }

  /** Reports the gap to every peer concerned, before the messages that follow it. */
  missed(topic: string | undefined): void {
    this.#server.counters.busGaps++;
    const watchers = topic === undefined ? [...this.#watchers.values()] : [this.#watchers.get(topic)];
    for (const watcher of watchers) watcher?.missed();
    if (topic === undefined) this.#gaps.all(this.#server.connections);
    else if (!this.#watchers.has(topic)) this.#gaps.topic(this.members.get(topic) ?? [], topic);
  }
}
