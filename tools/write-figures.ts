/**
 * `npm run docs:figures` writes the computed tables into their pages. `npm run scale` prints them; its options replace the
 * parameters of the example: `npm run scale -- --connections 200000 --room-size 4`.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hasFigures, renderFigures } from "./figures.ts";
import { listFiles, read, root } from "./repository.ts";
import { toMarkdown } from "./scale/format.ts";
import { createTables } from "./scale/tables.ts";
import { WIRE_LOAD, type WireLoad } from "./scale/wire.ts";

const { values } = parseArgs({
  options: {
    print: { type: "boolean", default: false },
    connections: { type: "string" },
    "room-size": { type: "string" },
    publishes: { type: "string" },
    requests: { type: "string" },
    "connections-per-process": { type: "string" },
  },
});

function numberOf(name: keyof typeof values, fallback: number): number {
  const text = values[name];
  if (typeof text !== "string") return fallback;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} is "${text}", but it must be a number above 0.`);
}

if (values.print) {
  const load: WireLoad = {
    ...WIRE_LOAD,
    connections: numberOf("connections", WIRE_LOAD.connections),
    roomSize: numberOf("room-size", WIRE_LOAD.roomSize),
    publishesPerConnection: numberOf("publishes", WIRE_LOAD.publishesPerConnection),
    requestsPerConnection: numberOf("requests", WIRE_LOAD.requestsPerConnection),
    connectionsPerProcess: numberOf("connections-per-process", WIRE_LOAD.connectionsPerProcess),
  };
  for (const [name, table] of createTables(load)) console.log(`${name}\n\n${toMarkdown(table())}\n`);
} else {
  const tables = createTables();
  for (const file of listFiles().filter((name) => name.endsWith(".md"))) {
    const text = read(file);
    if (!hasFigures(text)) continue;
    const rendered = renderFigures(file, text, tables);
    if (rendered !== text) writeFileSync(join(root, file), rendered);
    console.log(`${rendered === text ? "unchanged" : "written"}: ${file}`);
  }
}
