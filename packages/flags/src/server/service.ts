/** What every operation works with: the store of one auth instance, and the host's options. */
import type { EventLog } from "../store/events/event-log.ts";
import type { Exposures } from "../store/events/exposures.ts";
import type { Sinks } from "../store/events/sink.ts";
import type { Tally } from "../store/events/tally.ts";
import type { FlagStore } from "../store/store.ts";
import type { Principals } from "./fast/principals.ts";
import type { Limits } from "./limits/limits.ts";
import type { ReadableMeter } from "./meter.ts";
import type { Telemetry } from "./metrics-telemetry.ts";
import type { FeatureFlagsOptions } from "./options.ts";

/** `off` says why. */
export type FastPathState = { readonly state: "on" } | { readonly state: "off"; readonly reason: string };

export interface Service {
  readonly store: FlagStore;
  readonly options: FeatureFlagsOptions;
  readonly meter: ReadableMeter;
  readonly limits: Limits;
  readonly events: EventLog;
  /** Counts evaluations: `count` for each flag that is answered, `touch` once per request. */
  readonly tally: Tally;
  /** What `track: true` records. */
  readonly exposures: Exposures;
  /** Where events go onwards. */
  readonly sinks: Sinks;
  readonly telemetry: Telemetry;
  /** Whether requests are answered before Better Auth is entered. Set by `withFeatureFlags`. */
  fastPath: FastPathState;
  /** Callers whose credentials were checked lately. */
  readonly principals: Principals;
  /** After `closeFeatureFlags`: no new requests are wanted, those that come are answered. */
  isClosed(): boolean;
  /** Says it in the log, the first time it is said. */
  warnOnce(message: string): void;
}
