import { compareEvents } from "../http/events.ts";
import type { Measurement } from "../measurement.ts";

export const measurement: Measurement = compareEvents({
  name: "events-http",
  about:
    "Events of signed-in users over HTTP into PostgreSQL, with the option postgres; CPU time, that of the database included, of the same grouped insert by hand over ours",
  batches: { atLeast: 0.7, batchSize: 100, connections: 64 },
  singles: { atLeast: 0.5, connections: 256 },
});
