import { compareServers } from "../comparison.ts";
import { streamLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { bunServer } from "../server.ts";

export const measurement: Measurement = compareServers({
  name: "stream-bun",
  about: "Typed progress on Bun, each item checked by Zod, 50 streams with 64 items of credit each",
  operations: "Items sent",
  goal: { atLeast: 0.7 },
  load: streamLoad({ connections: 50 }),
  ours: bunServer("Halyard", import.meta.resolve("../servers/bun-wire.ts"), "stream"),
  baseline: bunServer(
    "Bun + JSON + Zod, same credit",
    import.meta.resolve("../servers/bun-stream-bare.ts"),
    "zod",
  ),
  others: [
    bunServer("Bun + JSON, same credit", import.meta.resolve("../servers/bun-stream-bare.ts"), "json"),
  ],
  peers: [],
});
