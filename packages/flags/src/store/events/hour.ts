/** Hours of roll-ups and exposures, in UTC. */

export const HOUR_MS: number = 3_600_000;
export const DAY_MS: number = 24 * HOUR_MS;

/** The start of the hour, in ms. */
export function hourStart(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/** The start of the hour, ISO 8601. */
export function hourOf(ms: number): string {
  return new Date(hourStart(ms)).toISOString();
}
