/** Checks that a large number of malformed requests is refused, with bounded memory. */
import { DatabaseSync } from "node:sqlite";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, test } from "vitest";
import { startHost } from "../host.ts";
import { sendMalformed } from "../malformed.ts";

const REFUSALS = 100_000;
const ROUNDS = 10;

const title = `${REFUSALS} malformed requests get 4xx, never 5xx, in bounded memory`;

test(title, { timeout: 1_800_000 }, async () => {
  const seed = Number(process.env["HALYARD_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
  const total = { requests: 0, refused: 0, accepted: 0 };
  const heaps: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // A new host each time, because malformed requests that stay valid create flags and rules.
    const db = new DatabaseSync(":memory:");
    const host = await startHost({ database: db });
    const admin = await host.person("admin", "admin");
    const tally = await sendMalformed(host, admin, REFUSALS / ROUNDS, seed + round);
    expect((await host.evaluate({ flagKey: "k" })).status).toBe(200);
    await host.close();
    db.close();
    total.requests += tally.requests;
    total.refused += tally.refused;
    total.accepted += tally.accepted;
    globalThis.gc?.();
    heaps.push(Math.round(process.memoryUsage().heapUsed / 2 ** 20));
  }
  expect(total.refused).toBe(REFUSALS);
  expect(Math.min(...heaps.slice(-3)) - Math.min(...heaps.slice(0, 3)), heaps.join()).toBeLessThan(200);
  recordEvidence("flags-malformed", {
    what: "Valid requests to every endpoint that takes a body or a query, broken in one to three places: other types, deep and wide values, odd Unicode, prototype names, missing and unknown keys, text that is not JSON.",
    size: `${REFUSALS} refused requests, by every route, as the admin where one is needed.`,
    checked:
      "Every answer is below 500; the service answers an evaluation at the end. It would have failed on any 5xx, on an exit, or on a heap that grows by 200 MiB or more between the first rounds and the last.",
    suite: "packages/flags/test/long/malformed.long.test.ts",
    seed,
    figures: {
      SQLite: {
        requests: total.requests,
        "4xx": total.refused,
        "accepted, for the damage did not matter": total.accepted,
        "5xx": 0,
      },
    },
  });
});
