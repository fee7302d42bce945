/** The bytes of messages that wait or are being handled: limited per connection and per process. */
import type { Clock } from "@halyard/base";
import { WsError } from "../../protocol/error.ts";
import type { ServerCounters } from "../server/counters.ts";

/** How long a peer that is over a limit should wait before it sends the message again. */
export const RETRY_AFTER_MS = 100;
/** At most one search for overdue messages per this time: every refused frame would cause one. */
const SEARCH_EVERY_MS = 1_000;
const NOT_HELD = -1;

/** A message that outlives the turn of the event loop in which it arrived. */
export class HeldMessage {
  /** The length of its frame. */
  readonly length: number;
  /** When it stops counting, in ms since epoch: a handler that never settles must not keep the room for ever. */
  until: number;
  /** Its place in `HeldMessages`; -1: it does not count. */
  at: number = NOT_HELD;
  /** Whether its handler has not settled. */
  isHandled = true;

  constructor(length: number, until: number) {
    this.length = length;
    this.until = until;
  }
}

/** Held bytes that share one budget, and the servers that hold them. */
interface Usage {
  bytes: number;
  readonly servers: Set<InboundMemory>;
}

const newUsage = (): Usage => ({ bytes: 0, servers: new Set() });
const processUsage = newUsage();

export interface InboundLimits {
  readonly maxInboundBytesPerConnection: number;
  readonly processInboundBudgetBytes: number;
}

/** The held messages of one server. */
export class InboundMemory {
  readonly #limits: InboundLimits;
  readonly #counters: ServerCounters;
  readonly #clock: Pick<Clock, "wall">;
  readonly #usage: Usage;
  /** Every connection that ever held a message and is open, or still has running handlers. */
  readonly #connections = new Set<HeldMessages>();
  /** In ms since epoch. */
  #searchedAt = 0;
  /** The held bytes of this server. */
  bytes = 0;

  /** An isolated server has a budget of its own. */
  constructor(
    limits: InboundLimits,
    counters: ServerCounters,
    clock: Pick<Clock, "wall">,
    isIsolated: boolean,
  ) {
    this.#limits = limits;
    this.#counters = counters;
    this.#clock = clock;
    this.#usage = isIsolated ? newUsage() : processUsage;
  }

  /** The list of a new connection. */
  open(): HeldMessages {
    const held = new HeldMessages(this);
    this.#connections.add(held);
    this.#usage.servers.add(this);
    return held;
  }

  /** The connection is gone; its running handlers still count. */
  close(held: HeldMessages): void {
    if (!held.isEmpty) return;
    this.#connections.delete(held);
    if (this.#connections.size === 0) this.#usage.servers.delete(this);
  }

  changed(bytes: number): void {
    this.bytes += bytes;
    this.#usage.bytes += bytes;
  }

  /** Throws when there is no room for another frame. A frame is always accepted while nothing else is held. */
  check(held: HeldMessages | undefined, frameLength: number): void {
    const { maxInboundBytesPerConnection: limit, processInboundBudgetBytes: budget } = this.#limits;
    if (held !== undefined && held.bytes > 0 && held.bytes + frameLength > limit) {
      held.dropOverdue(this.#clock.wall());
      if (held.bytes > 0 && held.bytes + frameLength > limit)
        throw this.#refusal(
          `This connection has ${held.bytes} bytes of messages that wait or are being handled; another ${frameLength} bytes would exceed maxInboundBytesPerConnection (${limit}). Wait for responses before sending more.`,
        );
    }
    if (this.#usage.bytes === 0 || this.#usage.bytes + frameLength <= budget) return;
    for (const server of this.#usage.servers) server.dropOverdue();
    if (this.#usage.bytes === 0 || this.#usage.bytes + frameLength <= budget) return;
    throw this.#refusal(
      "The server has no memory left for messages (processInboundBudgetBytes). Retry later.",
    );
  }

  #refusal(message: string): WsError {
    this.#counters.refusedInbound++;
    return new WsError("RESOURCE_EXHAUSTED", message, undefined, { retryAfterMs: RETRY_AFTER_MS });
  }

  /** Messages whose handler never settled stop counting. */
  dropOverdue(): void {
    const now = this.#clock.wall();
    if (Math.abs(now - this.#searchedAt) < SEARCH_EVERY_MS) return;
    this.#searchedAt = now;
    for (const held of this.#connections) held.dropOverdue(now);
  }
}

/** The held messages of one connection. */
export class HeldMessages {
  readonly #memory: InboundMemory;
  readonly #messages: HeldMessage[] = [];
  #isClosed = false;
  /** In ms since epoch. */
  #searchedAt = 0;
  bytes = 0;

  constructor(memory: InboundMemory) {
    this.#memory = memory;
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  add(message: HeldMessage): void {
    message.at = this.#messages.push(message) - 1;
    this.#count(message.length);
  }

  /** Takes the last message to the free place, so that no other moves. */
  remove(message: HeldMessage): void {
    const at = message.at;
    if (at === NOT_HELD) return;
    message.at = NOT_HELD;
    const last = this.#messages.pop();
    if (last !== undefined && last !== message) {
      this.#messages[at] = last;
      last.at = at;
    }
    this.#count(-message.length);
    if (this.#isClosed) this.#memory.close(this);
  }

  dropOverdue(now: number): void {
    if (Math.abs(now - this.#searchedAt) < SEARCH_EVERY_MS) return;
    this.#searchedAt = now;
    // From the end, because `remove` takes the last message to the free place.
    for (let at = this.#messages.length - 1; at >= 0; at--) {
      const message = this.#messages[at];
      if (message !== undefined && now > message.until) this.remove(message);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#memory.close(this);
  }

  #count(bytes: number): void {
    this.bytes += bytes;
    this.#memory.changed(bytes);
  }
}
