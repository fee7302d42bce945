/**
 * Deadlines in a Durable Object: kept by its one alarm instead of a system timer, which would keep it awake and be gone
 * once it sleeps. Late by as much as the platform's alarms are; what is due by then is also run with any other event.
 */
import type { Clock } from "../router/clock.ts";
import type { Timed, Timers } from "../router/timers.ts";
import type { DurableStorage } from "./durable-platform.ts";

/** Where the time of the application's own alarm is kept. */
const ALARM_KEY = "halyard:alarm";
/** What is due later is left to whoever is awake then: the platform refuses alarms that are centuries away. */
const LATEST_ALARM_AT = Date.UTC(2100);

export class DurableTimers implements Timers {
  readonly #clock: Clock;
  readonly #storage: DurableStorage;
  readonly #entries = new Set<Timed>();
  /** No entry is due before. */
  #nextAt: number = Number.POSITIVE_INFINITY;
  /** The entry that was due first may have been taken out. */
  #isNextKnown = true;
  /** When the platform will wake us at the latest; undefined: to be asked for, since we have just woken up. */
  #armedAt: number | undefined;

  #ownAt: number;

  constructor(clock: Clock, storage: DurableStorage) {
    this.#clock = clock;
    this.#storage = storage;
    const ownAt = storage.kv.get(ALARM_KEY);
    this.#ownAt = typeof ownAt === "number" ? ownAt : Number.POSITIVE_INFINITY;
  }

  add(entry: Timed, delayMs: number): void {
    this.remove(entry);
    if (delayMs === Number.POSITIVE_INFINITY) return;
    entry.dueAt = this.#clock.now() + delayMs;
    this.#entries.add(entry);
    this.#nextAt = Math.min(this.#nextAt, entry.dueAt);
  }

  remove(entry: Timed): void {
    if (!this.#entries.delete(entry)) return;
    if (this.#entries.size === 0) this.#nextAt = Number.POSITIVE_INFINITY;
    else if (entry.dueAt <= this.#nextAt) this.#isNextKnown = false;
  }

  /** Expires what is due. */
  run(): void {
    const now = this.#clock.now();
    if (now < this.#nextAt) return;
    const due = [...this.#entries].filter((entry) => entry.dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
    // Expiring one entry may take out others, those behind it in this list too.
    for (const entry of due) if (this.#entries.delete(entry)) expire(entry);
    this.#findNext();
  }

  #findNext(): void {
    this.#nextAt = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#entries) this.#nextAt = Math.min(this.#nextAt, dueAt);
    this.#isNextKnown = true;
  }

  /** The platform's alarm has rung: it is set no more. */
  rang(): void {
    this.#armedAt = Number.POSITIVE_INFINITY;
    if (this.#ownAt <= this.#clock.now()) this.setOwn(null);
    this.run();
  }

  /** Sets the application's own alarm, or none. */
  setOwn(at: number | null): void {
    if (at !== null && !(at > 0 && at <= LATEST_ALARM_AT))
      throw new RangeError(
        `setAlarm() takes ms since epoch until the year 2100, or null; not ${String(at)}.`,
      );
    this.#ownAt = at ?? Number.POSITIVE_INFINITY;
    if (at === null) this.#storage.kv.delete(ALARM_KEY);
    else this.#storage.kv.put(ALARM_KEY, at);
  }

  /**
   * Has the platform wake us for what is due next, if it would not anyway. An alarm that is no longer needed is left
   * alone: to ring once in vain costs less than to be moved with every call.
   */
  async arm(): Promise<void> {
    if (!this.#isNextKnown && this.#dueAt < (this.#armedAt ?? Number.POSITIVE_INFINITY)) this.#findNext();
    if (this.#dueAt > LATEST_ALARM_AT) return;
    await this.#learnArmed();
    const at = this.#dueAt;
    if (at >= (this.#armedAt ?? Number.POSITIVE_INFINITY)) return;
    this.#armedAt = at;
    try {
      await this.#storage.setAlarm(at);
    } catch (error) {
      this.#armedAt = undefined;
      throw error;
    }
  }

  /** An alarm that should have rung by now is late, or the application has deleted it with its storage. */
  async #learnArmed(): Promise<void> {
    const before = this.#armedAt;
    if (before !== undefined && before > this.#clock.now()) return;
    const found = await this.#storage.getAlarm();
    // Unless it has rung, or was set, in the meantime.
    if (this.#armedAt === before) this.#armedAt = found ?? Number.POSITIVE_INFINITY;
  }

  get #dueAt(): number {
    return Math.min(this.#nextAt, this.#ownAt);
  }
}

function expire(entry: Timed): void {
  try {
    entry.expire();
  } catch (error) {
    // The others are due all the same.
    queueMicrotask(() => {
      throw error;
    });
  }
}
