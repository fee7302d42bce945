import { compareServers } from "../comparison.ts";
import { rpcLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodePeers } from "../peers.ts";
import { nodeServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "rpc-node",
  about: "RPC echo on Node, Zod in and out, 50 connections with 16 requests in flight each",
  operations: "Requests answered",
  goal: { atLeast: 0.85 },
  load: rpcLoad({ connections: 50, depth: 16 }),
  ours: nodeServer("Halyard", import.meta.resolve("../servers/node-wire.ts"), "zod"),
  baseline: nodeServer("ws + JSON + Zod, corked", import.meta.resolve("../servers/node-bare.ts"), "zod"),
  others: [nodeServer("ws + JSON", import.meta.resolve("../servers/node-bare.ts"), "json")],
  peers: nodePeers,
});
