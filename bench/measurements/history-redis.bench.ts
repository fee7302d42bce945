import { median, pairSamples } from "../judge.ts";
import type { Measurement } from "../measurement.ts";
import { canPin } from "../pinning.ts";
import { runPublishers } from "../publishing.ts";
import { formatTable, type Table } from "../table.ts";

/** A publish with history also writes to a stream, in the same step; it must not cost much more than twice a plain one. */
export const measurement: Measurement = {
  name: "history-redis",
  about:
    "Publishes over Redis with history (200 messages, 10 minutes), 100 topics, 256 under way: the rate over that without history",
  goal: { atLeast: 0.4 },
  async run(effort) {
    const { plain, history } = await runPublishers("node-publisher.ts", ["history", "plain"], effort);
    const ratios = pairSamples(history, plain);
    const doubts = canPin()
      ? []
      : ["Not pinned: taskset is missing, or the machine has fewer than two cores."];
    const rateOf = (samples: typeof plain): number =>
      median(samples.map(({ operationsPerSecond }) => operationsPerSecond));
    const row = (name: string, samples: typeof plain): string[] => [
      name,
      rateOf(samples).toFixed(0),
      median(samples.map(({ cpuUsPerOperation }) => cpuUsPerOperation)).toFixed(1),
      String(samples.length),
    ];
    const table: Table = [
      ["median of rounds", "publishes/s", "CPU µs", "rounds"],
      row("with history", history),
      row("without history", plain),
    ];
    return {
      figures: ratios.rate,
      report: [
        formatTable(table),
        `Rate ratios: ${ratios.rate.map((ratio) => ratio.toFixed(2)).join(" ")}`,
        ...doubts,
      ].join("\n\n"),
      table,
      doubts,
      chart: {
        title: "Publishes per second over Redis (longer is better)",
        bars: [
          { name: "Halyard, with history", role: "ours", value: rateOf(history) },
          { name: "Halyard, without history", role: "baseline", value: rateOf(plain) },
        ],
      },
      rivals: [],
    };
  },
};
