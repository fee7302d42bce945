import { compareHttp } from "../http/comparison.ts";
import { evaluations, FETCH, flagServers, NODE_BARE, RAW, ROUTER } from "../http/contestants.ts";
import { UNLEASH } from "../http/unleash.ts";
import type { Measurement } from "../measurement.ts";

export const measurement: Measurement = compareHttp({
  name: "evaluate-http",
  about:
    "One of 100 flags for a signed-in user over HTTP, 10,000 sessions in PostgreSQL that are each seen every 30 s; CPU time of the others over ours",
  operations: "Evaluations",
  contestants: flagServers,
  aims: [
    { ours: RAW, other: ROUTER, atLeast: 15 },
    { ours: RAW, other: NODE_BARE, atLeast: 0.6 },
    { ours: FETCH, other: NODE_BARE, atLeast: 0.3 },
    { ours: RAW, other: UNLEASH, atLeast: 10 },
  ],
  exchanges: evaluations,
});
