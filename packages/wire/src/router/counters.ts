/** What a server counts: all that did not go as asked. */

export interface ServerCounters {
  /** Published frames a slow peer did not get; it was told by `$ws:gap`. */
  shed: number;
  /** Connections closed because the process ran out of its buffer budget. */
  overBudget: number;
  /** Progress frames a slow peer did not get. */
  droppedProgress: number;
  /** How often a slow peer was told of what it did not get. */
  shedGaps: number;
  /** How often published frames may have been lost between servers; the peers concerned were told by `$ws:gap`. */
  busGaps: number;
  /** Upgrades refused because there was no room for them. */
  refusedUpgrades: number;
}

export function createCounters(): ServerCounters {
  return { shed: 0, overBudget: 0, droppedProgress: 0, shedGaps: 0, busGaps: 0, refusedUpgrades: 0 };
}
