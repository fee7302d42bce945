import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, z } from "../zod.ts";

const Join = message("JOIN");
const Noted = message("NOTED", { n: z.number(), pad: z.string() });
const Tell = message("TELL", { waitFor: z.enum(["drain", "ack"]) });

const LIMIT_BYTES = 1_000;

function serve(signal?: AbortSignal) {
  const outcomes: boolean[] = [];
  const router = createRouter({ socketBufferLimitBytes: LIMIT_BYTES, slowConsumerTimeoutMs: 5_000 })
    .on(Join, (ctx) => ctx.subscribe("news"))
    .on(Tell, async (ctx) => {
      const { waitFor } = ctx.payload;
      outcomes.push(
        await ctx.send(Noted, { n: 0, pad: "" }, { waitFor, ...(signal !== undefined && { signal }) }),
      );
    });
  const publish = (n: number, bytes = 200) => router.publish("news", Noted, { n, pad: "x".repeat(bytes) });
  return { router, server: createTestServer(router), publish, outcomes };
}

describe("what is published to a peer that reads now and then", () => {
  test("is contiguous, or a gap is announced before what follows the hole", async () => {
    const step = fc.oneof(
      fc.record({ publish: fc.integer({ min: 1, max: 8 }) }),
      fc.constant("pause" as const),
      fc.constant("resume" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { server, publish } = serve();
        const peer = await server.connect();
        await peer.send(Join);
        let published = 0;
        let handed = 0;
        for (const action of steps) {
          if (action === "pause") peer.pause();
          else if (action === "resume") await peer.resume();
          else {
            for (let i = 0; i < action.publish; i++) {
              const result = await publish(published++);
              if (result.ok) handed += result.matchedLocal ?? 0;
            }
          }
        }
        await peer.resume();
        let next = 0;
        let announced = false;
        for (const { type, payload } of peer.frames) {
          if (type === "$ws:gap") announced = true;
          if (type !== "NOTED") continue;
          const { n } = payload as { n: number };
          expect(n === next || announced, `${n} came after ${next - 1} without a gap`).toBe(true);
          next = n + 1;
          announced = false;
        }
        expect(next === published || announced).toBe(true);
        // What is counted as handed over is exactly what arrived.
        expect(peer.received(Noted)).toHaveLength(handed);
        expect(peer.closedWith).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  test("is never announced as a gap when nothing was lost", async () => {
    const { server, publish } = serve();
    const peer = await server.connect();
    await peer.send(Join);
    for (let n = 0; n < 100; n++) {
      peer.pause();
      await publish(n);
      await peer.resume();
    }
    expect(peer.received(Noted)).toHaveLength(100);
    expect(peer.frames.map(({ type }) => type)).not.toContain("$ws:gap");
  });

  test("costs a peer that stays slow its connection, and one that catches up nothing", async () => {
    const { server, publish } = serve();
    const [stuck, late] = [await server.connect(), await server.connect()];
    for (const peer of [stuck, late]) {
      await peer.send(Join);
      peer.pause();
    }
    for (let n = 0; n < 10; n++) await publish(n);
    await server.clock.advance(4_000);
    await late.resume();
    await server.clock.advance(2_000);
    expect(stuck.closedWith).toMatchObject({ code: 1013 });
    expect(late.closedWith).toBeUndefined();
  });
});

describe("a signal given to a send", () => {
  test("ends the wait with false when it is aborted, and keeps no listener of waits that are over", async () => {
    const controller = new AbortController();
    const { server, outcomes } = serve(controller.signal);
    const peer = await server.connect();
    for (let i = 0; i < 20; i++) {
      await peer.send(Tell, { waitFor: "ack" });
      const sync = peer.frames.findLast(({ type }) => type === "$ws:sync");
      await peer.sendRaw(JSON.stringify({ type: "$ws:synced", payload: sync?.payload }));
    }
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => true));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await peer.send(Tell, { waitFor: "ack" });
    controller.abort();
    await server.clock.advance(0);
    expect(outcomes.at(-1)).toBe(false);
  });
});
