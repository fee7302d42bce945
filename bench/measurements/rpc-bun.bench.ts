import { compareServers } from "../comparison.ts";
import { rpcLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { bunPeers } from "../peers.ts";
import { bunServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "rpc-bun",
  about: "RPC echo on Bun, Zod in and out, 50 connections with 16 requests in flight each",
  operations: "Requests answered",
  goal: { atLeast: 0.85 },
  load: rpcLoad({ connections: 50, depth: 16 }),
  ours: bunServer("Halyard", import.meta.resolve("../servers/bun-wire.ts"), "zod"),
  baseline: bunServer("Bun + JSON + Zod", import.meta.resolve("../servers/bun-bare.ts"), "zod"),
  others: [bunServer("Bun + JSON", import.meta.resolve("../servers/bun-bare.ts"), "json")],
  peers: bunPeers,
});
