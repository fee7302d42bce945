/**
 * Sequence numbers that tell the time: a message's number is its publisher's monotonic time in µs, plus `TIMED_FROM`. From
 * two numbers of a publisher, a subscriber learns how much older the one message is. Publishers of older versions count
 * from 1; their numbers are below `TIMED_FROM`.
 */

const TIMED_FROM = 1e14;

/** The sequence number of a message published at this monotonic time in ms. */
export function sequenceAt(ms: number): number {
  return TIMED_FROM + Math.floor(ms * 1_000);
}

export function isTimed(sequence: number): boolean {
  return sequence >= TIMED_FROM;
}

/** The publisher's monotonic time in ms; only for timed numbers. */
export function timeOf(sequence: number): number {
  return (sequence - TIMED_FROM) / 1_000;
}
