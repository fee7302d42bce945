/**
 * Waits until every server of a NATS cluster knows of a subscription. The server of this process confirms only for itself;
 * the others learn of it over their routes, in order. So this process publishes a probe after the subscription, and the
 * processes at other servers reply: a reply proves that the replying process's server knows the subscription.
 */
import { pause } from "@halyard/base";
import type { TransportSettings } from "../transport.ts";
import { type NatsConnection, type NatsSubscription, publishUnlessDraining } from "./connection.ts";

/** How often a process announces the server it is connected to. */
const ANNOUNCE_EVERY_MS = 5_000;
/** A server without an announcement for this long has no process of this application any more. */
const EXPIRE_AFTER_MS = 15_000;
/** How long a new process waits for the others to announce themselves. */
const DISCOVERY_MS = 250;
const REPLY_TIMEOUT_MS = 1_000;
/** Minimum interval between probes. One probe covers all subscriptions made since the last one. */
const PROBE_EVERY_MS = 5;

/** An announcement, probe or reply: process id, server id, and the number of the probe; 0 in an announcement. */
const NOTICE = /^([0-9a-z-]{1,40}) (\S{1,100}) ([0-9]{1,15})$/;
const MAX_SERVERS = 1_000;

export interface NatsPropagationOptions extends Pick<TransportSettings, "prefix" | "id" | "clock"> {
  readonly connection: NatsConnection;
}

export class NatsPropagation {
  readonly #options: NatsPropagationOptions;
  readonly #subscriptions: NatsSubscription[] = [];
  /** The servers that processes of this application use, and the monotonic time of the last notice from each, in ms. */
  readonly #servers = new Map<string, number>();
  #timer: unknown;
  /** The number of the last probe. */
  #probe = 0;
  /** Servers that have not replied to the last probe. */
  #unconfirmed: Set<string> | undefined;
  #allReplied: () => void = () => undefined;
  #probing: Promise<void>;
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: NatsPropagationOptions) {
    this.#options = options;
    const { connection, prefix, id } = options;
    const listen = (subject: string, received: (text: string) => void): void => {
      const callback = (_: unknown, message: { string(): string }): void => received(message.string());
      this.#subscriptions.push(connection.subscribe(subject, { callback }));
    };
    listen(`${prefix}e`, (text) => this.#receiveNotice(text));
    listen(`${prefix}a.${id}`, (text) => this.#receiveReply(text));
    // The other servers are not known yet, so the first subscription waits until their processes had time to reply.
    this.#probing = pause(options.clock, DISCOVERY_MS);
    this.#announce(++this.#probe);
  }

  /** Resolves once every server with a process of this application knows the subscriptions made before this call. */
  whenPropagated(): Promise<void> {
    this.#next ??= this.#probing.then(() => {
      this.#next = undefined;
      this.#probing = this.#sendProbe();
      return this.#probing;
    });
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#timer);
    if (this.#options.connection.isClosed()) return;
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  async #sendProbe(): Promise<void> {
    const { clock } = this.#options;
    const others = [...this.#servers.keys()].filter((server) => server !== this.#ownServer);
    if (others.length === 0 || this.#isClosed) return;
    const unconfirmed = new Set(others);
    this.#unconfirmed = unconfirmed;
    const allReplied = new Promise<void>((resolve) => {
      this.#allReplied = resolve;
    });
    this.#publishNotice(++this.#probe);
    await Promise.race([allReplied, pause(clock, REPLY_TIMEOUT_MS)]);
    // No process of this application uses these servers any more; a new one announces itself.
    for (const server of unconfirmed) this.#servers.delete(server);
    this.#unconfirmed = undefined;
    await pause(clock, PROBE_EVERY_MS);
  }

  /** An announcement or probe, of another process or of this one. */
  #receiveNotice(text: string): void {
    const [, id, server = "", probe = "0"] = NOTICE.exec(text) ?? [];
    if (id === undefined || id === this.#options.id) return;
    this.#record(server);
    if (probe !== "0") this.#publish(`a.${id}`, `${this.#options.id} ${this.#ownServer} ${probe}`);
  }

  #receiveReply(text: string): void {
    const [, , server = "", probe] = NOTICE.exec(text) ?? [];
    if (server === "") return;
    this.#record(server);
    if (probe !== String(this.#probe) || !this.#unconfirmed?.delete(server)) return;
    if (this.#unconfirmed.size === 0) this.#allReplied();
  }

  #record(server: string): void {
    if (this.#servers.size < MAX_SERVERS || this.#servers.has(server))
      this.#servers.set(server, this.#options.clock.now());
  }

  /** Announces the server of this process to the other processes, now and at intervals. */
  #announce(probe = 0): void {
    if (this.#isClosed || this.#options.connection.isClosed()) return;
    const { clock } = this.#options;
    for (const [server, seenAt] of this.#servers)
      if (clock.now() - seenAt > EXPIRE_AFTER_MS) this.#servers.delete(server);
    this.#publishNotice(probe);
    this.#timer = clock.setTimeout(() => this.#announce(), ANNOUNCE_EVERY_MS);
  }

  get #ownServer(): string {
    return this.#options.connection.info?.server_id ?? "?";
  }

  #publishNotice(probe: number): void {
    this.#publish("e", `${this.#options.id} ${this.#ownServer} ${probe}`);
  }

  #publish(subject: string, text: string): void {
    const { connection, prefix } = this.#options;
    publishUnlessDraining(connection, prefix + subject, text);
  }
}
