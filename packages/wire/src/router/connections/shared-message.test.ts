import { describe, expect, test } from "vitest";
import { createTestServer } from "../../testing/index.ts";
import { createRouter, message, z } from "../../zod.ts";
import type { OpenContext } from "../context.ts";
import { SHARED } from "./shared-message.ts";

const shared: object = { [SHARED]: true };

const Note = message("NOTE", { text: z.string() });
const Marked = message("MARKED", { text: z.string() }, { mark: z.number() });

async function start() {
  const contexts: OpenContext[] = [];
  const limits = { socketBufferLimitBytes: 1_000, maxOutboundFrameBytes: 2_000 };
  const server = createTestServer(createRouter(limits).onOpen((ctx) => void contexts.push(ctx)));
  const peers = [await server.connect(), await server.connect()] as const;
  return { server, peers, contexts: contexts as [OpenContext, OpenContext] };
}

describe("a message that many connections share", () => {
  test("later sends of the same payload have the frame of the first one", async () => {
    const { server, peers, contexts } = await start();
    const note = { text: "one" };
    contexts[0].send(Note, note, shared);
    await server.clock.advance(5);
    contexts[1].send(Note, note, shared);
    contexts[1].send(Note, note);
    contexts[1].send(Note, { ...note }, shared);
    const [first, ...others] = peers.flatMap(({ frames }) => frames.filter(({ type }) => type === "NOTE"));
    const laterBy = others.map(({ meta }) => Number(meta["timestamp"]) - Number(first?.meta["timestamp"]));
    expect(laterBy).toEqual([0, 5, 5]);
  });

  test("a payload may be sent as several messages, and with meta", async () => {
    const { peers, contexts } = await start();
    const note = { text: "one" };
    contexts[0].send(Note, note, shared);
    contexts[0].send(Marked, note, { ...shared, meta: { mark: 1 } });
    contexts[0].send(Marked, note, { ...shared, meta: { mark: 2 } });
    expect(peers[0].frames.slice(-3)).toMatchObject([
      { type: "NOTE" },
      { type: "MARKED", meta: { mark: 1 } },
      { type: "MARKED", meta: { mark: 2 } },
    ]);
  });

  test("an invalid or too large payload throws, and nothing is sent", async () => {
    const { peers, contexts } = await start();
    const before = peers[0].frames.length;
    const [wrong, large] = [{ text: 1 as never }, { text: "x".repeat(3_000) }];
    for (const payload of [wrong, large, wrong, large])
      expect(() => contexts[0].send(Note, payload, shared)).toThrow(/NOTE/);
    expect(peers[0].frames).toHaveLength(before);
  });

  test("a peer that reads too slowly is closed, and no message is dropped before", async () => {
    const { peers, contexts } = await start();
    peers[0].pause();
    const note = { text: "x".repeat(300) };
    while (peers[0].closedWith === undefined) contexts[0].send(Note, note, shared);
    expect(peers[0].closedWith).toMatchObject({ code: 1013 });
    expect(peers[0].received(Note).length).toBeGreaterThan(4);
    expect(peers[0].frames.map(({ type }) => type)).not.toContain("$ws:gap");
  });
});
