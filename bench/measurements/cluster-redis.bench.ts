import { startRedis } from "@halyard/services";
import { compareServers } from "../comparison.ts";
import { fanLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodePair } from "../pair.ts";

export const measurement: Measurement = compareServers({
  name: "cluster-redis",
  about:
    "Fan-out across two servers on Node over Redis, one publisher, 500 subscribers on each, 8 messages under way",
  operations: "Messages delivered",
  goal: { atLeast: 0.8 },
  load: fanLoad({ subscribers: 1_000, outstanding: 8 }),
  ours: nodePair("Halyard", startRedis, import.meta.resolve("../servers/node-wire.ts"), "redis"),
  baseline: nodePair(
    "ws and node-redis, batched by hand",
    startRedis,
    import.meta.resolve("../servers/node-batched.ts"),
    "redis",
  ),
});
