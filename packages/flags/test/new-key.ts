/** Keys for entities of tests. */
let count = 0;

/** A key that no other flag has. */
export const newKey = (prefix = "flag"): string => `${prefix}-${++count}`;

/** For several processes with one database. */
export function startKeysAt(first: number): void {
  count = first;
}
