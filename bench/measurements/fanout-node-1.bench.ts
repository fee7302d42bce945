import { compareServers } from "../comparison.ts";
import { fanLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodePeers } from "../peers.ts";
import { nodeServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "fanout-node-1",
  about: "Fan-out on Node, one publisher, 1,000 subscribers of one topic, 1 message under way",
  operations: "Messages delivered",
  goal: { atLeast: 0.95 },
  load: fanLoad({ subscribers: 1_000, outstanding: 1 }),
  ours: nodeServer("Halyard", import.meta.resolve("../servers/node-wire.ts"), "zod"),
  baseline: nodeServer(
    "ws, serialised once, sent in a loop",
    import.meta.resolve("../servers/node-bare.ts"),
    "json",
  ),
  others: [nodeServer("ws, batched by hand", import.meta.resolve("../servers/node-batched.ts"))],
  peers: nodePeers,
});
