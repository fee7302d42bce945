/** Converts times to id prefixes: ids start with their time, so a time range is an id range. */

/** Sorts before every UUID v7 of this time or later, and after all earlier ones. */
export function idFloor(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
