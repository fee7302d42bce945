/** The dependencies of every operation: the store, the options and the counters of one auth instance. */
import type { Identities } from "@halyard/sessions/plugin";
import type { OnlineSource } from "../model/online.ts";
import type { EventLog } from "../store/events/event-log.ts";
import type { Exposures } from "../store/events/exposures.ts";
import type { Sinks } from "../store/events/sinks/sinks.ts";
import type { Tally } from "../store/events/tally.ts";
import type { FlagStore } from "../store/flag-store.ts";
import type { ExposureTokens } from "./evaluation/exposure-tokens.ts";
import type { EventStreams } from "./event-streams.ts";
import type { Previews } from "./impact/previews.ts";
import type { Limits } from "./limits/limits.ts";
import type { Lookups } from "./limits/lookups.ts";
import type { ReadableMeter } from "./metrics/meter.ts";
import type { Telemetry } from "./metrics/telemetry.ts";
import type { FeatureFlagsOptions } from "./options.ts";
import type { Processes } from "./processes.ts";
import type { TrustedAttributes } from "./trusted/trusted-attributes.ts";

/** Whether the fast path is on, and the reason if it is off. */
export type FastPathState = { readonly state: "on" } | { readonly state: "off"; readonly reason: string };

/** How many connections are subscribed to flags, and how many of them wait for an evaluation. */
export interface LiveFigures {
  readonly subscribers: number;
  readonly waiting: number;
}

/** What live flags tell the services of an auth instance, those of all copies of the package. */
export interface LiveState {
  figures: LiveFigures;
  /** Which users are online now. Set by the option `online`, or by live flags. */
  online: OnlineSource | undefined;
}

export interface Service {
  readonly store: FlagStore;
  readonly options: FeatureFlagsOptions;
  readonly meter: ReadableMeter;
  /** Undefined when rate limits are off. */
  readonly limits: Limits | undefined;
  /** Limits the lookups of credentials. Undefined when rate limits are off. */
  readonly lookups: Lookups | undefined;
  readonly events: EventLog;
  /** Counts evaluations: `count` for each evaluated flag, `touch` once per request. */
  readonly tally: Tally;
  /** Records exposures, and the links that sign-ins make. */
  readonly exposures: Exposures;
  /** Signs and reads the tokens with which exposures are reported later. */
  readonly tokens: ExposureTokens;
  /** Delivers stored events to sinks. */
  readonly sinks: Sinks;
  readonly telemetry: Telemetry;
  /** Whether the fast path answers requests before Better Auth runs. Set by `withFeatureFlags`. */
  fastPath: FastPathState;
  /** The header value of the console's requests, from the first of them on. */
  consoleMark: string | undefined;
  /** Identifies callers, and remembers those that Better Auth verified recently. */
  readonly identities: Identities;
  /** Streams of events for OFREP clients. */
  readonly streams: EventStreams;
  readonly live: LiveState;
  /** Previews of changes that are being counted. */
  readonly previews: Previews;
  /** The processes that serve these flags. */
  readonly processes: Processes;
  /** Whether the host has the organization plugin. */
  readonly hasOrganizations: boolean;
  /** Undefined without the option `trusted`. */
  readonly trusted: TrustedAttributes | undefined;
  /** True after `closeFeatureFlags`. Readiness is then 503, and requests that still arrive are answered. */
  isClosed(): boolean;
  /** Logs each message once. */
  warnOnce(message: string): void;
}
