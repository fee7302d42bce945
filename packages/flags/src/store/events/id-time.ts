/** The ids of rows begin with their time, so that a range of time is a range of ids. */

/** Sorts before every UUID v7 of this time or a later one, and after all others. */
export function idFloor(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
