import { startWorker } from "@halyard/services/worker";
import { adapterContract } from "./contract/adapter.ts";

adapterContract(
  "Durable Objects",
  () =>
    startWorker({
      entry: new URL("fixtures/worker.ts", import.meta.url).pathname,
      durableObjects: { ROOM: "Room" },
    }),
  {
    admission: false,
    serveOptions: false,
    transport: false,
    backpressure: false,
    heartbeat: false,
    shutdown: false,
  },
);
