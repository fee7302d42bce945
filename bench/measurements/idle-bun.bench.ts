import { compareFootprints } from "../footprint.ts";
import { idleLoad } from "../load.ts";
import type { Measurement } from "../measurement.ts";
import { bunPeers } from "../peers.ts";
import { bunServer } from "../server.ts";

export const measurement: Measurement = compareFootprints({
  name: "idle-bun",
  about: "Memory of 10,000 idle connections on Bun, each subscribed to a topic, heartbeat on",
  goal: { atMost: 2.5, unit: "KB" },
  load: idleLoad({ connections: 10_000 }),
  ours: bunServer("Halyard", import.meta.resolve("../servers/bun-wire.ts"), "heartbeat"),
  baseline: bunServer("Bun", import.meta.resolve("../servers/bun-bare.ts"), "json"),
  peers: bunPeers,
});
