/**
 * Sequence numbers that tell the time: a message's number is its publisher's monotonic time in µs. From two numbers of a
 * publisher, a subscriber learns how much older the one message is.
 */

/** The sequence number of a message published at this monotonic time in ms. */
export function sequenceAt(ms: number): number {
  return Math.floor(ms * 1_000);
}

/** The publisher's monotonic time in ms. */
export function timeOf(sequence: number): number {
  return sequence / 1_000;
}
