/** Channels in Durable Objects. */
import { startWorker } from "@halyard/services/worker";
import { vi } from "vitest";
import { channelContract } from "./contract/channels.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

channelContract("Durable Objects", async () => {
  const worker = await startWorker({
    entry: new URL("fixtures/channels/worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: "Room" },
  });
  return { urls: [worker.url, worker.url], stop: () => worker.stop() };
});
