import { startNats } from "@halyard/services";
import { compareServers } from "../comparison.ts";
import { fanLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodePair } from "../pair.ts";

export const measurement: Measurement = compareServers({
  name: "cluster-nats",
  about:
    "Fan-out across two servers on Node over NATS, one publisher, 500 subscribers on each, 8 messages under way",
  operations: "Messages delivered",
  goal: { atLeast: 0.8 },
  load: fanLoad({ subscribers: 1_000, outstanding: 8 }),
  ours: nodePair("Halyard", startNats, import.meta.resolve("../servers/node-wire.ts"), "nats"),
  baseline: nodePair(
    "ws and NATS, batched by hand",
    startNats,
    import.meta.resolve("../servers/node-batched.ts"),
    "nats",
  ),
});
