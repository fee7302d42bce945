/**
 * Knows when all servers of a NATS cluster have heard of a subscription. The server a process is connected to confirms
 * for itself only; the others learn of it over their routes, in order. So a word is sent after it, to be answered by the
 * processes that are connected to the others: whoever answers is connected to a server that knows.
 */
import type { Clock } from "../router/clock.ts";
import type { NatsConnection, NatsSubscription } from "./nats-transport.ts";
import { pause } from "./waits.ts";

const HELLO_EVERY_MS = 5_000;
/** A server from which nobody answered for so long has nobody connected to it. */
const FORGET_AFTER_MS = 15_000;
const INTRODUCTION_MS = 250;
const ANSWER_TIMEOUT_MS = 1_000;
/** So often at most is asked, for all subscriptions since together. */
const ASK_EVERY_MS = 5;

/** A word to all: who asks, from which server, and the number of the question, 0 when there is none. */
const WORD = /^([0-9a-z-]{1,40}) (\S{1,100}) ([0-9]{1,15})$/;
const MAX_SERVERS = 1_000;

export interface NatsReachOptions {
  readonly connection: NatsConnection;
  readonly prefix: string;
  /** Names this process on the broker. */
  readonly id: string;
  readonly clock: Clock;
}

export class NatsReach {
  readonly #options: NatsReachOptions;
  readonly #subscriptions: NatsSubscription[] = [];
  /** Other servers that processes of ours are connected to, and when one of them was last heard of. */
  readonly #servers = new Map<string, number>();
  #timer: unknown;
  #question = 0;
  #unanswered: Set<string> | undefined;
  #answered: () => void = () => undefined;
  #asking: Promise<void>;
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: NatsReachOptions) {
    this.#options = options;
    const { connection, prefix, id } = options;
    const listen = (subject: string, heard: (text: string) => void): void => {
      const callback = (_: unknown, message: { string(): string }): void => heard(message.string());
      this.#subscriptions.push(connection.subscribe(subject, { callback }));
    };
    listen(`${prefix}e`, (text) => this.#hear(text));
    listen(`${prefix}a.${id}`, (text) => this.#answer(text));
    // Who is there is not known yet: the first subscription waits until all had time to answer.
    this.#asking = pause(options.clock, INTRODUCTION_MS);
    this.#greet(++this.#question);
  }

  /** Resolves once every server that matters knows of what was subscribed to before this call. */
  spread(): Promise<void> {
    this.#next ??= this.#asking.then(() => {
      this.#next = undefined;
      this.#asking = this.#ask();
      return this.#asking;
    });
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#timer);
    if (this.#options.connection.isClosed()) return;
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  async #ask(): Promise<void> {
    const { clock } = this.#options;
    const others = [...this.#servers.keys()].filter((server) => server !== this.#ownServer);
    if (others.length === 0 || this.#isClosed) return;
    const unanswered = new Set(others);
    this.#unanswered = unanswered;
    const answered = new Promise<void>((resolve) => {
      this.#answered = resolve;
    });
    this.#say(++this.#question);
    await Promise.race([answered, pause(clock, ANSWER_TIMEOUT_MS)]);
    // Nobody of ours is there any more, or he will greet again.
    for (const server of unanswered) this.#servers.delete(server);
    this.#unanswered = undefined;
    await pause(clock, ASK_EVERY_MS);
  }

  /** Another process, or we ourselves. */
  #hear(text: string): void {
    const [, id, server = "", question = "0"] = WORD.exec(text) ?? [];
    if (id === undefined || id === this.#options.id) return;
    this.#note(server);
    if (question !== "0") this.#publish(`a.${id}`, `${this.#options.id} ${this.#ownServer} ${question}`);
  }

  #answer(text: string): void {
    const [, , server = "", question] = WORD.exec(text) ?? [];
    if (server === "") return;
    this.#note(server);
    if (question !== String(this.#question) || !this.#unanswered?.delete(server)) return;
    if (this.#unanswered.size === 0) this.#answered();
  }

  #note(server: string): void {
    if (this.#servers.size < MAX_SERVERS || this.#servers.has(server))
      this.#servers.set(server, this.#options.clock.now());
  }

  /** Tells the others which server this process is connected to, now and from time to time. */
  #greet(question = 0): void {
    if (this.#isClosed || this.#options.connection.isClosed()) return;
    const { clock } = this.#options;
    for (const [server, heardAt] of this.#servers)
      if (clock.now() - heardAt > FORGET_AFTER_MS) this.#servers.delete(server);
    this.#say(question);
    this.#timer = clock.setTimeout(() => this.#greet(), HELLO_EVERY_MS);
  }

  get #ownServer(): string {
    return this.#options.connection.info?.server_id ?? "?";
  }

  #say(question: number): void {
    this.#publish("e", `${this.#options.id} ${this.#ownServer} ${question}`);
  }

  #publish(subject: string, text: string): void {
    const { connection, prefix } = this.#options;
    if (!connection.isClosed()) connection.publish(prefix + subject, text);
  }
}
