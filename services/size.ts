/** Sizes of tests that run small in every test run and at full size in `npm run test:long`. */

/** Whether this is a long suite, which runs alone: only then a bound on time says something about the code. */
export const isFullSize: boolean = process.env["HALYARD_FULL_SIZE"] === "1";

/** `full` in the long suites, otherwise a smaller number that still proves the promise. */
export function sized(full: number, small: number): number {
  return isFullSize ? full : small;
}
