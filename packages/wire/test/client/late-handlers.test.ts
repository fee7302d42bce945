/** Handlers that are registered after their messages arrived. At full size in the long suites. */
import { sized } from "@halyard/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PLATFORMS, startLateServer } from "../fixtures/late/platforms.ts";
import { checkScriptedOrders } from "../fixtures/late/scripted.ts";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";

const SCRIPTED = sized(10_000, 1_000);
const REAL = sized(1_000, 40);
const seed = seedOf("late handlers");
const findings = new Findings();

let server: Awaited<ReturnType<typeof startLateServer>>;
beforeAll(async () => {
  server = await startLateServer();
});
afterAll(() => server.stop());

test(`a room is given each message once and in order, or a gap in its place, in ${SCRIPTED.toLocaleString("en")} orders over scripted sockets`, async () => {
  await checkScriptedOrders(SCRIPTED, seed);
  findings.passed("scripted sockets", { orders: SCRIPTED });
}, 240_000);

test.each(Object.entries(PLATFORMS))(
  `%s: a room is given each message once and in order, or a gap in its place, in ${REAL.toLocaleString("en")} orders over a real server`,
  async (name, run) => {
    const { problems, messages, gaps } = await run({ url: server.url, orders: REAL, seed });
    expect(problems).toEqual([]);
    expect(messages).toBeGreaterThan(REAL * 4);
    findings.passed(name, { orders: REAL, messages, "gaps announced": gaps });
  },
  240_000,
);

afterAll(() => {
  findings.publish("late-handlers", 1 + Object.keys(PLATFORMS).length, {
    what: "Rooms whose handlers are registered at any time: before and after the join, after kept and live messages, inside another handler, in the middle of a stream, after lost connections, and removed again in the same turn. Some rooms have a history, and some receive more than a room holds.",
    size: `${SCRIPTED.toLocaleString("en")} random orders of join, publish, gap and on over scripted sockets; ${REAL.toLocaleString("en")} over a server on Node with each client.`,
    checked:
      "What the application of every room was given: each message once and in the order of the publishes, or a gap in its place; no gap where nothing was lost.",
    suite: "packages/wire/test/client/late-handlers.test.ts",
    seed,
  });
});
