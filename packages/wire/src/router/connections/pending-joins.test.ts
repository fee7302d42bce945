import { uuidv7 } from "@halyard/base";
import { describe, expect, test } from "vitest";
import { settle } from "../../testing/fake-clock.ts";
import { createTestServer, type TestConnection } from "../../testing/index.ts";
import { channel, createRouter, message, rpc, z } from "../../zod.ts";

const id = z.enum(["a", "b"]);
const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", { params: { id }, events: [Said] });
const Ask = rpc("ASK", { id }, "ASKED", { isMember: z.boolean() });

function join(peer: TestConnection, id: "a" | "b" = "a"): Promise<void> {
  const payload = { channel: "room:{id}", params: { id } };
  return peer.sendRaw(JSON.stringify({ type: "$ws:join", meta: { correlationId: uuidv7() }, payload }));
}

function gate() {
  let resolve: (isAllowed: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((settled) => {
    resolve = settled;
  });
  return { promise, resolve: (isAllowed: boolean) => resolve(isAllowed) };
}

describe("a message after a join", () => {
  /** A connection whose joins wait for the gate of their room. */
  async function start() {
    const gates = { a: gate(), b: gate() };
    const router = createRouter()
      .channel(Room, { authorize: (_, { id }) => gates[id].promise })
      .rpc(Ask, (ctx) => ({ isMember: ctx.joined(Room, ctx.payload) }));
    const server = createTestServer(router);
    const peer = await server.connect();
    const answers: boolean[] = [];
    const ask = (id: "a" | "b") =>
      void peer.request(Ask, { id }).then(({ isMember }) => void answers.push(isMember));
    return { peer, server, gates, ask, answers };
  }

  test("is handled when the join is answered", async () => {
    const { peer, gates, ask, answers } = await start();
    await join(peer);
    ask("a");
    await settle();
    expect(answers).toEqual([]);
    gates.a.resolve(true);
    await settle();
    expect(answers).toEqual([true]);
  });

  test("is handled when the join is refused, or cancelled", async () => {
    const { peer, gates, ask, answers } = await start();
    const meta = { correlationId: uuidv7() };
    const payload = { channel: "room:{id}", params: { id: "a" } };
    await peer.sendRaw(JSON.stringify({ type: "$ws:join", meta, payload }));
    ask("a");
    await peer.sendRaw(JSON.stringify({ type: "$ws:abort", meta }));
    await settle();
    expect(answers).toEqual([false]);
    await join(peer, "b");
    ask("b");
    await settle();
    gates.b.resolve(false);
    await settle();
    expect(answers).toEqual([false, false]);
  });

  test("waits for joins before it, and not for those after it", async () => {
    const { peer, gates, ask, answers } = await start();
    await join(peer, "a");
    ask("a");
    await join(peer, "b");
    ask("b");
    gates.a.resolve(true);
    await settle();
    expect(answers).toEqual([true]);
    gates.b.resolve(true);
    await settle();
    expect(answers).toEqual([true, true]);
  });

  test("is handled after 1 s, whatever the join waits for", async () => {
    const { peer, server, ask, answers } = await start();
    await join(peer);
    ask("a");
    await server.clock.advance(900);
    expect(answers).toEqual([]);
    await server.clock.advance(200);
    expect(answers).toEqual([false]);
  });
});
