/** The dependencies of every operation: the store, the options and the counters of one auth instance. */
import type { EventLog } from "../store/events/event-log.ts";
import type { Exposures } from "../store/events/exposures.ts";
import type { Sinks } from "../store/events/sinks/sinks.ts";
import type { Tally } from "../store/events/tally.ts";
import type { FlagStore } from "../store/flag-store.ts";
import type { Identities } from "./identity/identities.ts";
import type { Limits } from "./limits/limits.ts";
import type { ReadableMeter } from "./metrics/meter.ts";
import type { Telemetry } from "./metrics/telemetry.ts";
import type { FeatureFlagsOptions } from "./options.ts";

/** Whether the fast path is on, and the reason if it is off. */
export type FastPathState = { readonly state: "on" } | { readonly state: "off"; readonly reason: string };

export interface Service {
  readonly store: FlagStore;
  readonly options: FeatureFlagsOptions;
  readonly meter: ReadableMeter;
  /** Undefined when rate limits are off. */
  readonly limits: Limits | undefined;
  readonly events: EventLog;
  /** Counts evaluations: `count` for each evaluated flag, `touch` once per request. */
  readonly tally: Tally;
  /** Records the exposures of `track: true`. */
  readonly exposures: Exposures;
  /** Delivers stored events to sinks. */
  readonly sinks: Sinks;
  readonly telemetry: Telemetry;
  /** Whether the fast path answers requests before Better Auth runs. Set by `withFeatureFlags`. */
  fastPath: FastPathState;
  /** Identifies callers, and remembers those that Better Auth verified recently. */
  readonly identities: Identities;
  /** True after `closeFeatureFlags`. Readiness is then 503, and requests that still arrive are answered. */
  isClosed(): boolean;
  /** Logs each message once. */
  warnOnce(message: string): void;
}
