import { startWorker, type Worker } from "@halyard/services/worker";
import { expect } from "vitest";
import { beforeEachFrame, speakFirst } from "./contract/adapter/peer.ts";
import { adapterContract } from "./contract/adapter.ts";
import type { ScenarioName } from "./fixtures/scenarios.ts";

const CLASSES: Readonly<Record<ScenarioName, string>> = {
  open: "Open",
  guarded: "Guarded",
  "any-origin": "AnyOrigin",
  "chosen-origins": "ChosenOrigins",
  "own-token": "OwnToken",
  crowded: "Crowded",
  strict: "Strict",
  tight: "Tight",
  watched: "Watched",
  "watched-at-leisure": "Watched",
  stalling: "Watched",
  ending: "Open",
  measured: "Measured",
  paced: "Paced",
  unhurried: "Open",
};
/** The engine compresses as the client requests and drops a connection that violates the WebSocket protocol without a close frame. */
const LACKS = {
  departure: false,
  transport: false,
  endpoints: false,
  backpressure: false,
  heartbeat: false,
  shutdown: false,
} as const;

adapterContract("Durable Objects", start, LACKS);
adapterContract(
  "Durable Objects that hibernate between any two frames",
  async (scenario) => {
    const worker = await start(scenario);
    let asleep = 0;
    let frames = 0;
    // An idle object hibernates after a time that varies.
    const withinMs = scenario === "open" ? 5_000 : 250;
    beforeEachFrame(worker.url, async () => {
      frames++;
      // While upgrades wait or handlers use the clock, the object is busy and is left alone.
      if (await worker.evict("ROOM", "contract", withinMs)) asleep++;
    });
    return {
      ...worker,
      async stop() {
        await worker.stop();
        if (scenario === "open") expect(asleep / frames).toBeGreaterThan(0.95);
      },
    };
  },
  { ...LACKS, patience: false },
);

async function start(scenario: ScenarioName): Promise<Worker> {
  const worker = await startWorker({
    entry: new URL("fixtures/worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: CLASSES[scenario] },
    evictable: true,
  });
  speakFirst(worker.url);
  return worker;
}
