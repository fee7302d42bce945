/** One timer wheel for all deadlines of a server: adding and removing an entry costs no allocation and no system timer. */
import type { Clock } from "@halyard/base";

const TICK_MS = 16;
const SLOTS = 512;
const NOWHERE = -1;
/** The slot of an entry that is about to expire in this run. */
const DUE = -2;
/** The slot after those of the ticks: entries that are due later than this many ticks ahead, in no order. */
const FAR = SLOTS;
/** About two minutes. Timeouts of requests are shorter: for one after the other, the system timer need not be set again. */
const FAR_TICKS = 16 * SLOTS;
/** The longest delay of a system timer is 25 days. */
const MAX_TICKS = 100_000_000;

/** An entry of the wheel. Its fields belong to the wheel; an entry is in one wheel at most. */
export interface Timed {
  dueAt: number;
  slot: number;
  before: Timed | undefined;
  after: Timed | undefined;
  /** Called once at or after `dueAt`; the entry is no longer in the wheel then. */
  expire(): void;
}

/** The deadlines of a server: a timer wheel, or what the platform has instead. */
export interface Timers {
  /** Sets or moves an entry to expire `delayMs` from now; `Infinity` is never. */
  add(entry: Timed, delayMs: number): void;
  /** Removes an entry; does nothing when it is not set. */
  remove(entry: Timed): void;
}

/** A single callback as a wheel entry. */
export class Timeout implements Timed {
  dueAt = 0;
  slot: number = NOWHERE;
  before: Timed | undefined = undefined;
  after: Timed | undefined = undefined;
  readonly expire: () => void;

  constructor(callback: () => void) {
    this.expire = callback;
  }
}

/** Expires an entry. What it throws surfaces as an uncaught error later, so that the other due entries expire too. */
export function expire(entry: Timed): void {
  try {
    entry.expire();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

export class TimerWheel implements Timers {
  readonly #clock: Clock;
  readonly #slots: (Timed | undefined)[] = new Array(SLOTS + 1).fill(undefined);
  /** Entries in the slots of ticks. */
  #size = 0;
  /** No entry in the slot `FAR` is due before this tick. */
  #farTick: number = Number.POSITIVE_INFINITY;
  /** The last tick whose due entries have expired. */
  #tick = 0;
  #armedTick: number = Number.POSITIVE_INFINITY;
  #handle: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(entry: Timed, delayMs: number): void {
    this.remove(entry);
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const now = this.#clock.now();
    if (this.#size === 0) this.#tick = Math.floor(now / TICK_MS);
    entry.dueAt = now + delayMs;
    const tick = Math.max(Math.ceil(entry.dueAt / TICK_MS), this.#tick + 1);
    this.#place(entry, tick);
    const nextTick = entry.slot === FAR ? this.#sortTick() : Math.min(tick, this.#tick + SLOTS);
    if (nextTick < this.#armedTick) this.#arm(nextTick);
  }

  remove(entry: Timed): void {
    if (entry.slot === NOWHERE) return;
    if (entry.slot === DUE) {
      entry.slot = NOWHERE;
      return;
    }
    if (entry.before === undefined) this.#slots[entry.slot] = entry.after;
    else entry.before.after = entry.after;
    if (entry.after !== undefined) entry.after.before = entry.before;
    if (entry.slot !== FAR) this.#size--;
    else if (this.#slots[FAR] === undefined) {
      this.#farTick = Number.POSITIVE_INFINITY;
      // It could be set to a time days ahead, for nothing.
      if (this.#size === 0) this.#disarm();
    }
    entry.slot = NOWHERE;
    entry.before = undefined;
    entry.after = undefined;
  }

  /** Stops the system timer and removes every entry. */
  clear(): void {
    for (const first of this.#slots) for (let entry = first; entry !== undefined; entry = this.#drop(entry));
    this.#disarm();
  }

  #drop(entry: Timed): Timed | undefined {
    const next = entry.after;
    this.remove(entry);
    return next;
  }

  /** Entries that are due much later would make the wheel run at every tick only to find that they are not due. */
  #place(entry: Timed, tick: number): void {
    if (tick <= this.#tick + FAR_TICKS) {
      this.#link(entry, tick % SLOTS);
      this.#size++;
      return;
    }
    this.#link(entry, FAR);
    if (tick < this.#farTick) this.#farTick = tick;
  }

  /** When the far entries must be looked through. After it, the next time is at least one round later. */
  #sortTick(): number {
    return Math.min(this.#farTick - SLOTS, this.#tick + MAX_TICKS);
  }

  /** Places the far entries again, and collects those that became due during a long pause of the process. */
  #sort(now: number, due: Timed[]): void {
    const first = this.#slots[FAR];
    this.#slots[FAR] = undefined;
    this.#farTick = Number.POSITIVE_INFINITY;
    for (let entry = first; entry !== undefined; ) {
      const next: Timed | undefined = entry.after;
      entry.before = undefined;
      entry.after = undefined;
      if (entry.dueAt > now) this.#place(entry, Math.max(Math.ceil(entry.dueAt / TICK_MS), this.#tick + 1));
      else {
        entry.slot = DUE;
        due.push(entry);
      }
      entry = next;
    }
  }

  #link(entry: Timed, slot: number): void {
    const first = this.#slots[slot];
    entry.slot = slot;
    entry.after = first;
    if (first !== undefined) first.before = entry;
    this.#slots[slot] = entry;
  }

  #arm(tick: number): void {
    this.#disarm();
    this.#armedTick = tick;
    this.#handle = this.#clock.setTimeout(() => this.#run(), Math.max(0, tick * TICK_MS - this.#clock.now()));
  }

  #disarm(): void {
    if (this.#handle !== undefined) this.#clock.clearTimeout(this.#handle);
    this.#handle = undefined;
    this.#armedTick = Number.POSITIVE_INFINITY;
  }

  #run(): void {
    this.#handle = undefined;
    this.#armedTick = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    const until = Math.floor(now / TICK_MS);
    const due: Timed[] = [];
    // After a long pause, one round visits every slot; more rounds would visit them again.
    for (let tick = Math.max(this.#tick + 1, until - SLOTS + 1); tick <= until; tick++)
      this.#collect(tick % SLOTS, now, due);
    this.#tick = until;
    if (this.#farTick - SLOTS <= until) this.#sort(now, due);
    const nextTick = this.#nextTick();
    if (nextTick !== Number.POSITIVE_INFINITY) this.#arm(nextTick);
    // Collected first: expiring one entry may add or remove others, including later ones in this list.
    for (const entry of due) {
      if (entry.slot !== DUE) continue;
      entry.slot = NOWHERE;
      expire(entry);
    }
  }

  #collect(slot: number, now: number, due: Timed[]): void {
    for (let entry = this.#slots[slot]; entry !== undefined; ) {
      const next: Timed | undefined = entry.after;
      if (entry.dueAt <= now) {
        this.remove(entry);
        entry.slot = DUE;
        due.push(entry);
      }
      entry = next;
    }
  }

  #nextTick(): number {
    const sortTick = this.#sortTick();
    if (this.#size === 0) return this.#slots[FAR] === undefined ? Number.POSITIVE_INFINITY : sortTick;
    for (let ahead = 1; ahead < SLOTS; ahead++) {
      const tick = this.#tick + ahead;
      if (this.#slots[tick % SLOTS] !== undefined) return Math.min(tick, sortTick);
    }
    return Math.min(this.#tick + SLOTS, sortTick);
  }
}
