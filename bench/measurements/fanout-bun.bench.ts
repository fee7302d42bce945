import { compareServers } from "../comparison.ts";
import { fanLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { bunPeers } from "../peers.ts";
import { bunServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "fanout-bun",
  about: "Fan-out on Bun, one publisher, 1,000 subscribers of one topic, 8 messages under way",
  operations: "Messages delivered",
  goal: { atLeast: 0.9 },
  load: fanLoad({ subscribers: 1_000, outstanding: 8 }),
  ours: bunServer("Halyard", import.meta.resolve("../servers/bun-wire.ts"), "zod"),
  baseline: bunServer("Bun, server.publish", import.meta.resolve("../servers/bun-bare.ts"), "json"),
  peers: bunPeers,
});
