import { compareServers } from "../comparison.ts";
import { rpcLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { bunServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "rpc-bun-valibot",
  about: "RPC echo on Bun, Valibot in and out, 50 connections with 16 requests in flight each",
  operations: "Requests answered",
  goal: { atLeast: 0.85 },
  load: rpcLoad({ connections: 50, depth: 16 }),
  ours: bunServer("Halyard", import.meta.resolve("../servers/bun-wire.ts"), "valibot"),
  baseline: bunServer("Bun + JSON + Valibot", import.meta.resolve("../servers/bun-bare.ts"), "valibot"),
  others: [bunServer("Bun + JSON", import.meta.resolve("../servers/bun-bare.ts"), "json")],
});
