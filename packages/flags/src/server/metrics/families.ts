/** The names, descriptions and samples of the metrics, for Prometheus and OpenTelemetry. */
import type { Figures, Gauge, Labels } from "./meter.ts";

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface CounterFamily {
  readonly name: string;
  readonly help: string;
  readonly samples: (figures: Figures) => readonly Sample[];
}

/** The name of the one histogram. */
export const DURATION: { readonly name: string; readonly help: string } = {
  name: "request_duration_seconds",
  help: "Duration of requests over HTTP, by operation and status.",
};

/** Counts since the start of the process. Label values come from the code or the host's configuration, never from callers. */
export const COUNTERS: readonly CounterFamily[] = [
  {
    name: "evaluations",
    help: "Number of flag evaluations, by reason.",
    samples: ({ evaluations }) => samplesOf("reason", Object.entries(evaluations)),
  },
  {
    name: "events",
    help: "Events sent by callers: accepted events are committed, refused events were reported to the caller.",
    samples: ({ events }) => samplesOf("fate", Object.entries(events)),
  },
  {
    name: "lost",
    help: "Exposures, links of sign-ins, counts and events lost without failing a request. Investigate any value above 0.",
    samples: ({ losses }) => samplesOf("what", Object.entries(losses)),
  },
  {
    name: "rate_limited",
    help: "Requests over a limit, by rule: refused with 429, or health in its short form.",
    samples: ({ limited }) => samplesOf("rule", [...limited]),
  },
  {
    name: "sink_deliveries",
    help: "Attempts to deliver events to a sink, by outcome.",
    samples: ({ sinks }) =>
      [...sinks].flatMap(([sink, { deliveries }]) =>
        Object.entries(deliveries).map(([outcome, value]) => ({ labels: { sink, outcome }, value })),
      ),
  },
  {
    name: "sink_events",
    help: "Events delivered to a sink.",
    samples: ({ sinks }) => [...sinks].map(([sink, { events }]) => ({ labels: { sink }, value: events })),
  },
  {
    name: "trusted_computations",
    help: "Calls of trusted.compute, by outcome. Investigate failed and timeout.",
    samples: ({ computations }) => samplesOf("outcome", Object.entries(computations)),
  },
  {
    name: "trusted_unreadable",
    help: "Evaluation requests that skipped rules because trusted attributes could not be read, by root.",
    samples: ({ unreadable }) => samplesOf("root", Object.entries(unreadable)),
  },
];

/** Groups the gauges by name. */
export function gaugeFamilies(gauges: readonly Gauge[]): ReadonlyMap<string, readonly Gauge[]> {
  const families = new Map<string, Gauge[]>();
  for (const gauge of gauges) {
    const family = families.get(gauge.name);
    if (family === undefined) families.set(gauge.name, [gauge]);
    else family.push(gauge);
  }
  return families;
}

function samplesOf(label: string, entries: readonly (readonly [string, number])[]): readonly Sample[] {
  return entries.map(([name, value]) => ({ labels: { [label]: name }, value }));
}
