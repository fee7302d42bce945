import { compareFootprints } from "../footprint.ts";
import { idleLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodePeers } from "../peers.ts";
import { nodeServer } from "../server.ts";

export const measurement: Measurement = compareFootprints({
  name: "idle-node",
  about: "Memory of 10,000 idle connections on Node, each subscribed to a topic, heartbeat on",
  goal: { atMost: 2.5, unit: "KB" },
  load: idleLoad({ connections: 10_000 }),
  ours: nodeServer("Halyard", import.meta.resolve("../servers/node-wire.ts"), "heartbeat"),
  baseline: nodeServer("ws", import.meta.resolve("../servers/node-bare.ts"), "json"),
  peers: nodePeers,
});
