/** How many cores evaluations need, and how much of a database events need. */

import { benchCommand, figure, type Table, whole } from "./format.ts";
import { performance } from "./measured.ts";

/** What the application does. Stated, not measured: replace it with yours. */
export interface FlagsLoad {
  /** The peak divided by the mean. */
  readonly peak: number;
  /** The share of a core that a process may use at the peak. */
  readonly usableCore: number;
  /** Flags that one bootstrap evaluates. */
  readonly flagsPerBootstrap: number;
  readonly retentionDays: number;
}

export const FLAGS_LOAD: FlagsLoad = { peak: 3, usableCore: 0.6, flagsPerBootstrap: 100, retentionDays: 90 };

const DAY_SECONDS = 86_400;
const GB = 1e9;
/** Idempotency keys are stored for 48 hours, and events for a sink that is down at most as long. */
const KEY_DAYS = 2;
/** What we plan with, not measured: what an ordinary disk sustains, and what is still convenient to back up. */
const SUSTAINED_EVENTS = 5_000;
const MAX_STORED_BYTES = 1e12;

/** Bytes of a row with its indexes. */
export interface EventSizes {
  readonly eventBytes: number;
  readonly keyBytes: number;
  readonly exposureBytes: number;
  readonly waitingBytes: number;
}

export function readEventSizes(): EventSizes {
  const bytes = (row: string): number => performance("event-size", row, "bytes a row");
  return {
    eventBytes: bytes("an event"),
    keyBytes: bytes("an idempotency key"),
    exposureBytes: bytes("an exposure"),
    waitingBytes: bytes("an event that waits for a sink"),
  };
}

export interface FlagsCosts {
  readonly bootstrapUs: number;
  readonly evaluationUs: number;
  readonly fetchBootstrapUs: number;
  readonly fetchEvaluationUs: number;
  /** Per second, on the machine of the measurement. */
  readonly batchedEvents: number;
  readonly singleEvents: number;
}

export function readFlagsCosts(): FlagsCosts {
  return {
    bootstrapUs: performance("bootstrap-http", "Halyard, raw Node", "CPU µs"),
    evaluationUs: performance("evaluate-http", "Halyard, raw Node", "CPU µs"),
    fetchBootstrapUs: performance("bootstrap-http", "Halyard, fetch-style", "CPU µs"),
    fetchEvaluationUs: performance("evaluate-http", "Halyard, fetch-style", "CPU µs"),
    batchedEvents: performance("events-http", "Halyard, batches of 100", "events/s"),
    singleEvents: performance("events-http", "Halyard, single events", "events/s"),
  };
}

export function tabulateFlagsCosts(costs: FlagsCosts): Table {
  return [
    ["cost", "raw Node", "fetch-style", "from"],
    [
      "a bootstrap of 100 flags",
      `${figure(costs.bootstrapUs)} µs`,
      `${figure(costs.fetchBootstrapUs)} µs`,
      benchCommand("bootstrap-http"),
    ],
    [
      "a single evaluation",
      `${figure(costs.evaluationUs)} µs`,
      `${figure(costs.fetchEvaluationUs)} µs`,
      benchCommand("evaluate-http"),
    ],
    ["events per second, in batches of 100", whole(costs.batchedEvents), "–", benchCommand("events-http")],
    ["events per second, one by one", whole(costs.singleEvents), "–", benchCommand("events-http")],
  ];
}

/** A billion evaluations a day, by the number of flags of a request. */
export function tabulateCores(load: FlagsLoad, costs: FlagsCosts): Table {
  const perSecond = (1e9 / DAY_SECONDS) * load.peak;
  // Between one flag and a bootstrap, the time grows with the number of flags.
  const between = (count: number, one: number, all: number): number =>
    one + ((all - one) * (count - 1)) / (load.flagsPerBootstrap - 1);
  const row = (about: string, count: number): string[] => {
    const us = [
      between(count, costs.evaluationUs, costs.bootstrapUs),
      between(count, costs.fetchEvaluationUs, costs.fetchBootstrapUs),
    ];
    const requests = perSecond / count;
    return [
      about,
      whole(requests),
      ...us.flatMap((time) => [`${figure(time)} µs`, figure((requests * time) / 1e6 / load.usableCore)]),
    ];
  };
  return [
    [
      "a billion evaluations a day as",
      "requests/s at peak",
      "raw Node: CPU time",
      "cores",
      "fetch-style: CPU time",
      "cores",
    ],
    row(`bootstraps of ${load.flagsPerBootstrap} flags`, load.flagsPerBootstrap),
    row("bootstraps of 20 flags, interpolated", 20),
    row("single evaluations", 1),
  ];
}

/** What events and exposures take in PostgreSQL, with an example of each. */
export function tabulateEventSizes(load: FlagsLoad, sizes: EventSizes): Table {
  const days = load.retentionDays;
  const stored = (rows: number, bytes: number): string => `${figure((rows * bytes) / GB)} GB`;
  return [
    ["row, with its indexes", "bytes", "kept for", "example", "takes"],
    [
      "an event",
      whole(sizes.eventBytes),
      "`retentionDays`",
      `10 million a day, ${days} days`,
      stored(1e7 * days, sizes.eventBytes),
    ],
    [
      "an idempotency key",
      whole(sizes.keyBytes),
      "48 h",
      "10 million a day",
      stored(1e7 * KEY_DAYS, sizes.keyBytes),
    ],
    [
      "an exposure: user, flag, arm and hour",
      whole(sizes.exposureBytes),
      "`retentionDays`",
      `a million users, 1.5 hours a day, 5 flags, ${days} days`,
      stored(1e6 * 1.5 * 5 * days, sizes.exposureBytes),
    ],
    [
      "an event that waits for a sink",
      whole(sizes.waitingBytes),
      "while the sink is down, at most 48 h",
      "1,000 events/s, down for a day",
      stored(1_000 * DAY_SECONDS, sizes.waitingBytes),
    ],
  ];
}

export function tabulateEvaluations(load: FlagsLoad, costs: FlagsCosts): Table {
  const cores = (perSecond: number, us: number): string => figure((perSecond * us) / 1e6 / load.usableCore);
  const rows = [1e7, 1e8, 1e9, 1e10].map((perDay) => {
    const single = (perDay / DAY_SECONDS) * load.peak;
    const bootstraps = single / load.flagsPerBootstrap;
    return [
      whole(perDay),
      whole(single),
      whole(bootstraps),
      cores(bootstraps, costs.bootstrapUs),
      cores(bootstraps, costs.fetchBootstrapUs),
      cores(single, costs.evaluationUs),
      cores(single, costs.fetchEvaluationUs),
    ];
  });
  return [
    [
      "evaluations a day",
      "evaluations/s at peak",
      "bootstraps/s",
      "cores: bootstraps",
      "fetch-style",
      "cores: single",
      "fetch-style",
    ],
    ...rows,
  ];
}

export function tabulateEvents(load: FlagsLoad, { eventBytes, keyBytes }: EventSizes): Table {
  const rows = [1e6, 1e7, 1e8, 1e9].map((perDay) => {
    const perSecond = (perDay / DAY_SECONDS) * load.peak;
    const stored = perDay * (eventBytes * load.retentionDays + keyBytes * KEY_DAYS);
    const days = Math.floor((MAX_STORED_BYTES / perDay - keyBytes * KEY_DAYS) / eventBytes);
    return [whole(perDay), whole(perSecond), `${whole(stored / GB)} GB`, verdictOn(perSecond, stored, days)];
  });
  return [
    ["events a day", "events/s at peak", `stored for ${load.retentionDays} days`, "store them in"],
    ...rows,
  ];
}

function verdictOn(perSecond: number, stored: number, days: number): string {
  if (perSecond > SUSTAINED_EVENTS) return "Kafka or ClickHouse; in PostgreSQL only a sample";
  if (stored <= MAX_STORED_BYTES) return "PostgreSQL";
  return `PostgreSQL for ${whole(days)} days, and a sink to ClickHouse`;
}
