/** How many cores evaluations need, and how much of a database events need. */

import { figure, type Table, whole } from "./format.ts";
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
/** From the page on sizing: bytes of an event's row with indexes, and of its idempotency key, kept for two days. */
const EVENT_BYTES = 270;
const KEY_BYTES = 135 * 2;
/** From the page on sizing: what an ordinary disk sustains, and what is still convenient to back up. */
const SUSTAINED_EVENTS = 5_000;
const MAX_STORED_BYTES = 1e12;

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
  const source = (name: string): string => `\`npm run bench -- ${name}\``;
  return [
    ["cost", "raw Node", "fetch-style", "from"],
    [
      "a bootstrap of 100 flags",
      `${figure(costs.bootstrapUs)} µs`,
      `${figure(costs.fetchBootstrapUs)} µs`,
      source("bootstrap-http"),
    ],
    [
      "a single evaluation",
      `${figure(costs.evaluationUs)} µs`,
      `${figure(costs.fetchEvaluationUs)} µs`,
      source("evaluate-http"),
    ],
    ["events per second, in batches of 100", whole(costs.batchedEvents), "–", source("events-http")],
    ["events per second, one by one", whole(costs.singleEvents), "–", source("events-http")],
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

export function tabulateEvents(load: FlagsLoad): Table {
  const rows = [1e6, 1e7, 1e8, 1e9].map((perDay) => {
    const perSecond = (perDay / DAY_SECONDS) * load.peak;
    const stored = perDay * (EVENT_BYTES * load.retentionDays + KEY_BYTES);
    const days = Math.floor((MAX_STORED_BYTES / perDay - KEY_BYTES) / EVENT_BYTES);
    return [whole(perDay), whole(perSecond), `${whole(stored / 1e9)} GB`, verdictOn(perSecond, stored, days)];
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
