import { compareHttp } from "../http/comparison.ts";
import { evaluations, RAW, rawServer } from "../http/contestants.ts";
import type { Measurement } from "../measurement.ts";

const TRUSTED = "Halyard, raw Node, the plan from the user's row";

export const measurement: Measurement = compareHttp({
  name: "evaluate-trusted",
  about:
    "One of 100 flags for a signed-in user over HTTP, as in evaluate-http: the rules read the user's plan from the row instead of the request; CPU time with the plan of the request over that with the plan of the row",
  operations: "Evaluations",
  contestants: [
    { ...rawServer(TRUSTED, "trusted"), world: { isTrusting: true } },
    { ...rawServer(RAW, "claimed"), role: "baseline" },
  ],
  aims: [{ ours: TRUSTED, other: RAW, atLeast: 0.95 }],
  exchanges: evaluations,
});
