/** The counters of a server: what was dropped, refused or closed. */

/** Counts since the start of a server. */
export interface ServerCounters {
  /** Published frames dropped because a peer read too slowly; the peer got `$ws:gap`. */
  shed: number;
  /** Connections closed because the process exceeded its buffer budget. */
  overBudget: number;
  /** Progress frames dropped because a peer read too slowly. */
  droppedProgress: number;
  /** `$ws:gap` frames sent because a peer read too slowly. */
  shedGaps: number;
  /** Gaps between this server and the broker; the peers concerned got `$ws:gap`. */
  busGaps: number;
  /** Upgrades refused because of a connection or rate limit. */
  refusedUpgrades: number;
  /** Messages refused because too many bytes of earlier ones were waiting or being handled. */
  refusedInbound: number;
}

export function createCounters(): ServerCounters {
  return {
    shed: 0,
    overBudget: 0,
    droppedProgress: 0,
    shedGaps: 0,
    busGaps: 0,
    refusedUpgrades: 0,
    refusedInbound: 0,
  };
}
