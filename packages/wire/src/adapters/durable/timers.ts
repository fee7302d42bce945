/**
 * Deadlines in a Durable Object. They use its one alarm, because a system timer would keep the object awake and be lost in
 * hibernation. Deadlines can be as late as the platform's alarms. Due ones also expire with every other event.
 */
import type { Clock } from "@halyard/base";
import { expire, type Timed, type Timers } from "../../time/timers.ts";
import type { DurableStorage } from "./platform.ts";

/** The storage key of the application's alarm time. */
const ALARM_KEY = "halyard:alarm";
/** The platform refuses alarms in the far future; later deadlines expire with an event. */
const LATEST_ALARM_AT = Date.UTC(2100);

export class DurableTimers implements Timers {
  readonly #clock: Clock;
  readonly #storage: DurableStorage;
  readonly #entries = new Set<Timed>();
  /** No entry is due before this time. */
  #nextAt: number = Number.POSITIVE_INFINITY;
  /** False when the first entry may have been removed, so that `#nextAt` may be too early. */
  #isNextKnown = true;
  /** When the platform's alarm fires; undefined: unknown, must be read. */
  #armedAt: number | undefined;
  /** When the application's alarm is due; Infinity: never. */
  #applicationAt: number;

  constructor(clock: Clock, storage: DurableStorage) {
    this.#clock = clock;
    this.#storage = storage;
    const applicationAt = storage.kv.get(ALARM_KEY);
    this.#applicationAt = typeof applicationAt === "number" ? applicationAt : Number.POSITIVE_INFINITY;
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

  /** Expires due entries. */
  run(): void {
    const now = this.#clock.now();
    if (now < this.#nextAt) return;
    const due = [...this.#entries].filter((entry) => entry.dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
    // Expiring one entry may remove others, including later ones in this list.
    for (const entry of due) if (this.#entries.delete(entry)) expire(entry);
    this.#findNext();
  }

  #findNext(): void {
    this.#nextAt = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#entries) this.#nextAt = Math.min(this.#nextAt, dueAt);
    this.#isNextKnown = true;
  }

  /** The platform's alarm fired, so none is set now. */
  alarmFired(): void {
    this.#armedAt = Number.POSITIVE_INFINITY;
    if (this.#applicationAt <= this.#clock.now()) this.setApplicationAlarm(null);
    this.run();
  }

  /** Sets the application's alarm, or removes it. */
  setApplicationAlarm(at: number | null): void {
    if (at !== null && !(at > 0 && at <= LATEST_ALARM_AT))
      throw new RangeError(
        `setAlarm() got ${String(at)}. Pass a time in ms since epoch before the year 2100, or null.`,
      );
    this.#applicationAt = at ?? Number.POSITIVE_INFINITY;
    if (at === null) this.#storage.kv.delete(ALARM_KEY);
    else this.#storage.kv.put(ALARM_KEY, at);
  }

  /**
   * Sets the platform's alarm for the next deadline, unless it fires before that anyway. An alarm that is no longer needed
   * stays: one unnecessary wake-up costs less than moving the alarm with every call.
   */
  async arm(): Promise<void> {
    if (!this.#isNextKnown && this.#dueAt < (this.#armedAt ?? Number.POSITIVE_INFINITY)) this.#findNext();
    if (this.#dueAt > LATEST_ALARM_AT) return;
    await this.#readAlarm();
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

  /** Reads the platform's alarm when it is unknown or overdue: the application may have deleted it with its storage. */
  async #readAlarm(): Promise<void> {
    const before = this.#armedAt;
    if (before !== undefined && before > this.#clock.now()) return;
    const alarmAt = await this.#storage.getAlarm();
    // Unless it fired or was set in the meantime.
    if (this.#armedAt === before) this.#armedAt = alarmAt ?? Number.POSITIVE_INFINITY;
  }

  get #dueAt(): number {
    return Math.min(this.#nextAt, this.#applicationAt);
  }
}
