import { describe, expect, test, vi } from "vitest";
import type { AskOptions, Peer } from "../../index.ts";
import { createTestServer, type TestConnection } from "../../testing/index.ts";
import { createRouter, rpc, z } from "../../zod.ts";

const Confirm = rpc("CONFIRM", { text: z.string() }, "CONFIRMED", { yes: z.boolean() });

async function serving(options: Parameters<typeof createRouter>[0] = {}, greets = true) {
  let ws: Peer | undefined;
  const router = createRouter(options).onOpen((ctx) => {
    ws = ctx.ws;
  });
  const server = createTestServer(router);
  const peer = await server.connect({ greets });
  const ask = (askOptions?: AskOptions) => {
    const outcome = (ws as Peer).request(Confirm, { text: "sure?" }, askOptions);
    return outcome.then(
      ({ type, payload }) => ({ type, payload }),
      ({ code }: { code: string }) => code,
    );
  };
  return { server, peer, ask };
}

const asked = (peer: TestConnection) => peer.frames.filter(({ type }) => type === "$ws:ask");
const answer = (peer: TestConnection, id: unknown, payload: unknown) =>
  peer.sendRaw(JSON.stringify({ type: "$ws:answer", meta: { correlationId: id }, payload }));
const yes = { type: "CONFIRMED", payload: { yes: true } };

describe("a request of the server to a client", () => {
  test("is one $ws:ask frame, and resolves to the response of its $ws:answer", async () => {
    const { peer, ask } = await serving();
    const outcome = ask({ timeoutMs: 2_000 });
    const [frame] = asked(peer);
    expect(frame).toMatchObject({
      meta: { correlationId: "1", timeoutMs: 2_000 },
      payload: { type: "CONFIRM", payload: { text: "sure?" } },
    });
    await answer(peer, "1", yes);
    expect(await outcome).toEqual(yes);
  });

  test("rejects at once when its timeoutMs is not a number", async () => {
    const { peer, ask } = await serving();
    expect(await ask({ timeoutMs: Number.NaN })).toBe("INTERNAL");
    expect(asked(peer)).toEqual([]);
  });

  test("settles once: a second answer, and one with an unknown id, are ignored", async () => {
    const { peer, ask } = await serving();
    const [first, second] = [ask(), ask()];
    await answer(peer, "9", yes);
    await answer(peer, "2", yes);
    await answer(peer, "2", { code: "ABORTED" });
    await answer(peer, "1", { code: "ABORTED" });
    expect(await Promise.all([first, second])).toEqual(["ABORTED", yes]);
    expect(peer.frames.filter(({ type }) => type === "$ws:error")).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ["the client's error code", { code: "PERMISSION_DENIED" }, "PERMISSION_DENIED"],
    [
      "INTERNAL when the response does not match its schema",
      { type: "CONFIRMED", payload: { yes: 5 } },
      "INTERNAL",
    ],
    ["INTERNAL when the response has another type", { type: "OTHER", payload: { yes: true } }, "INTERNAL"],
    ["INTERNAL when the answer has no payload", undefined, "INTERNAL"],
    ["INTERNAL when the answer is not an object", 5, "INTERNAL"],
  ])("rejects with %s", async (_, payload, code) => {
    const { peer, ask } = await serving();
    const outcome = ask();
    await answer(peer, "1", payload);
    expect(await outcome).toBe(code);
  });

  test("rejects with DEADLINE_EXCEEDED after timeoutMs, tells the client, and ignores a late answer", async () => {
    const { server, peer, ask } = await serving();
    const outcome = ask({ timeoutMs: 100 });
    await server.clock.advance(200);
    expect(await outcome).toBe("DEADLINE_EXCEEDED");
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:abort", meta: { correlationId: "1" } });
    await answer(peer, "1", yes);
    expect(peer.frames.filter(({ type }) => type === "$ws:error")).toEqual([]);
  });

  test("rejects with CANCELLED when its signal is aborted, before or after it was sent", async () => {
    const { peer, ask } = await serving();
    expect(await ask({ signal: AbortSignal.abort() })).toBe("CANCELLED");
    expect(asked(peer)).toEqual([]);
    const controller = new AbortController();
    const outcome = ask({ signal: controller.signal });
    controller.abort();
    expect(await outcome).toBe("CANCELLED");
    expect(peer.frames.at(-1)).toMatchObject({ type: "$ws:abort" });
  });

  test("rejects with UNAVAILABLE at once when the client leaves, or has left", async () => {
    const { peer, ask } = await serving();
    const outcome = ask();
    await peer.disconnect();
    expect(await outcome).toBe("UNAVAILABLE");
    expect(await ask()).toBe("UNAVAILABLE");
  });

  test("rejects with UNIMPLEMENTED for a peer without the subprotocol", async () => {
    const { ask } = await serving({}, false);
    expect(await ask()).toBe("UNIMPLEMENTED");
  });

  test("is limited in number by maxInflightRpcsPerSocket", async () => {
    const { peer, ask } = await serving({ maxInflightRpcsPerSocket: 2 });
    const [first, , third] = [ask(), ask(), ask()];
    expect(await third).toBe("RESOURCE_EXHAUSTED");
    await answer(peer, "1", yes);
    expect(await first).toEqual(yes);
    void ask();
    await vi.waitUntil(() => asked(peer).length === 3);
  });
});
