/** Measured tables of the comparison pages, from `npm run bench -- --report`. */

import { figure, type Table } from "./format.ts";
import { hasRow, performance } from "./measured.ts";

interface Line {
  readonly about: string;
  readonly measurement: string;
  /** The column of Halyard. */
  readonly column: string;
  readonly unit: string;
  /** The column of the others, and what follows its figures. */
  readonly others: readonly [column: string, unit: string];
}

/** Ratios are of the same rounds; the medians of each server are not. */
const CPU = { column: "CPU µs/op", unit: "µs", others: ["CPU ratio", "×"] } as const;
const MEMORY = { column: "KB a connection", unit: "KB", others: ["KB a connection", "KB"] } as const;

const WIRE: readonly Line[] = [
  { about: "request on Node", measurement: "rpc-node", ...CPU },
  { about: "request on Bun", measurement: "rpc-bun", ...CPU },
  { about: "delivery on Node, 1 message under way", measurement: "fanout-node-1", ...CPU },
  { about: "delivery on Node, 8 under way", measurement: "fanout-node", ...CPU },
  { about: "delivery on Bun, 1 message under way", measurement: "fanout-bun-1", ...CPU },
  { about: "delivery on Bun, 8 under way", measurement: "fanout-bun", ...CPU },
  { about: "idle connection on Node", measurement: "idle-node", ...MEMORY },
  { about: "idle connection on Bun", measurement: "idle-bun", ...MEMORY },
];

const PEERS = ["Socket.IO", "tRPC", "Elysia", "ws-kit"];

const ENGINES: Readonly<Record<string, string>> = {
  "rpc-node": "ws + JSON + Zod, corked",
  "rpc-bun": "Bun + JSON + Zod",
  "fanout-node-1": "ws, batched by hand",
  "fanout-node": "ws, batched by hand",
  "fanout-bun-1": "Bun, server.publish",
  "fanout-bun": "Bun, server.publish",
  "idle-node": "ws",
  "idle-bun": "Bun",
};

export function tabulateWireComparison(): Table {
  const rows = WIRE.map(({ about, measurement, column, unit, others: [other, otherUnit] }) => {
    const cell = (row: string): string =>
      hasRow(measurement, row) ? `${figure(performance(measurement, row, other))} ${otherUnit}` : "–";
    const ours = `${figure(performance(measurement, "Halyard", column))} ${unit}`;
    return [about, ours, cell(ENGINES[measurement] ?? ""), ...PEERS.map(cell)];
  });
  return [["", "Halyard", "by hand", ...PEERS], ...rows];
}

const UNLEASH = "Unleash 8.2.0, /api/frontend";

export function tabulateFlagsComparison(): Table {
  const row = (about: string, measurement: string, column: string): string[] => [
    about,
    ...["Halyard, raw Node", "Halyard, fetch-style", "bare node:http", UNLEASH].map((name) =>
      figure(performance(measurement, name, column)),
    ),
  ];
  return [
    ["", "Halyard, raw Node", "Halyard, fetch-style", "bare node:http", UNLEASH],
    row("one flag: CPU µs", "evaluate-http", "CPU µs"),
    row("one flag: requests/s", "evaluate-http", "requests/s"),
    row("one flag at 333 requests/s: p99 ms", "evaluate-http", "p99 ms"),
    row("100 flags: CPU µs", "bootstrap-http", "CPU µs"),
    row("100 flags: requests/s", "bootstrap-http", "requests/s"),
    row("100 flags at 333 requests/s: p99 ms", "bootstrap-http", "p99 ms"),
  ];
}
