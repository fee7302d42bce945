import { median, pairSamples, type Sample } from "../judge.ts";
import type { Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { runPublishers } from "../publishing.ts";
import { formatTable, type Table } from "../table.ts";

/** An item of a durable call is checked, written once, published, and read by its reader from the log. */
export const measurement: Measurement = {
  name: "durable",
  about:
    "Items of 100 durable calls over Redis, each with one reader: the CPU time of a bare XADD and PUBLISH over ours",
  goal: { atLeast: 0.2 },
  async run(effort) {
    const { durable, bare } = await runPublishers("node-durable.ts", ["durable", "bare"], effort);
    const ratios = pairSamples(durable, bare);
    const doubts = canPin()
      ? []
      : ["Not pinned: taskset is missing, or the machine has fewer than two cores."];
    const rateOf = (samples: readonly Sample[]): number =>
      median(samples.map(({ operationsPerSecond }) => operationsPerSecond));
    const row = (name: string, samples: readonly Sample[]): string[] => [
      name,
      rateOf(samples).toFixed(0),
      median(samples.map(({ cpuUsPerOperation }) => cpuUsPerOperation)).toFixed(1),
      String(samples.length),
    ];
    const table: Table = [
      ["median of rounds", "items/s", "CPU µs an item", "rounds"],
      row("durable calls", durable),
      row("XADD + PUBLISH, by node-redis", bare),
    ];
    return {
      figures: ratios.cpu,
      report: [
        formatTable(table),
        `CPU ratios: ${ratios.cpu.map((ratio) => ratio.toFixed(2)).join(" ")}`,
        `Rate ratios: ${ratios.rate.map((ratio) => ratio.toFixed(2)).join(" ")}`,
        ...doubts,
      ].join("\n\n"),
      table,
      doubts,
      chart: {
        title: "Items of durable calls per second over Redis (longer is better)",
        bars: [
          { name: "Halyard, durable calls", role: "ours", value: rateOf(durable) },
          { name: "XADD + PUBLISH, by node-redis", role: "baseline", value: rateOf(bare) },
        ],
      },
      rivals: [],
    };
  },
};
