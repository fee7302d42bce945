import { compareServers } from "../comparison.ts";
import { streamLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { nodeServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "stream-node",
  about: "Typed progress on Node, each item checked by Zod, 50 streams with 64 items of credit each",
  operations: "Items sent",
  goal: { atLeast: 0.7 },
  load: streamLoad({ connections: 50 }),
  ours: nodeServer("Halyard", import.meta.resolve("../servers/node-wire.ts"), "stream"),
  baseline: nodeServer(
    "ws + JSON + Zod, same credit",
    import.meta.resolve("../servers/node-stream-bare.ts"),
    "zod",
  ),
  others: [
    nodeServer("ws + JSON, same credit", import.meta.resolve("../servers/node-stream-bare.ts"), "json"),
  ],
  peers: [],
});
