import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { type HandleContext, handle } from "../../src/client/handle.ts";
import { WsError } from "../../src/index.ts";
import { rpc, z } from "../../src/zod.ts";
import { FakeWorld } from "./fake-world.ts";

const Confirm = rpc("CONFIRM", { text: z.string() }, "CONFIRMED", { yes: z.boolean() });

function connected() {
  const world = new FakeWorld();
  const client = createClient({ url: "ws://server/" }, world);
  const errors: string[] = [];
  client.onError(({ code, message }) => errors.push(`${code} ${message}`));
  void client.connect();
  world.socket.greet();
  const ask = (
    id: string,
    payload: unknown = { type: "CONFIRM", payload: { text: "?" } },
    timeoutMs?: number,
  ) => world.socket.deliver("$ws:ask", payload, { correlationId: id, ...(timeoutMs && { timeoutMs }) });
  const answers = () => world.socket.sent.filter(({ type }) => type === "$ws:answer");
  const answered = async (n = 1) => {
    await vi.waitUntil(() => answers().length >= n);
    return answers().map(({ meta, payload }) => ({ id: meta?.["correlationId"], ...(payload as object) }));
  };
  return { world, client, ask, answers, answered, errors };
}

afterEach(() => void vi.restoreAllMocks());

describe("handle()", () => {
  test("answers a request of the server with what the handler returns", async () => {
    const { client, ask, answered } = connected();
    const seen: unknown[] = [];
    handle(client, Confirm, async (payload) => {
      seen.push(payload);
      return { yes: true };
    });
    ask("1");
    expect(await answered()).toEqual([{ id: "1", type: "CONFIRMED", payload: { yes: true } }]);
    expect(seen).toEqual([{ text: "?" }]);
  });

  test("answers RESOURCE_EXHAUSTED instead of a response that the server would close the connection for", async () => {
    const { world, client, ask, answered, errors } = connected();
    world.socket.deliver("$ws:hello", { v: 1, clientId: "c", heartbeatMs: 0, maxPayloadBytes: 1_000 });
    const Read = rpc("READ", undefined, "CONTENT", { text: z.string() });
    handle(client, Read, () => ({ text: "x".repeat(1_000) }));
    ask("1", { type: "READ" });
    expect(await answered()).toEqual([{ id: "1", code: "RESOURCE_EXHAUSTED" }]);
    expect(errors).toEqual([expect.stringContaining("maxPayloadBytes")]);
  });

  test("answers INTERNAL instead of a response without a JSON form", async () => {
    const { client, ask, answered, errors } = connected();
    const Read = rpc("READ", undefined, "CONTENT", { value: z.unknown() });
    handle(client, Read, () => ({ value: 1n }));
    ask("1", { type: "READ" });
    expect(await answered()).toEqual([{ id: "1", code: "INTERNAL" }]);
    expect(errors).toHaveLength(1);
  });

  test("a request without a handler is UNIMPLEMENTED, also after the handler was removed", async () => {
    const { client, ask, answered } = connected();
    ask("1");
    const remove = handle(client, Confirm, () => ({ yes: true }));
    ask("2", { type: "OTHER" });
    remove();
    ask("3");
    expect(await answered(3)).toEqual(["1", "2", "3"].map((id) => ({ id, code: "UNIMPLEMENTED" })));
  });

  test("a later handler replaces an earlier one, whose removal then does nothing", async () => {
    const { client, ask, answered } = connected();
    const removeFirst = handle(client, Confirm, () => ({ yes: false }));
    handle(client, Confirm, () => ({ yes: true }));
    removeFirst();
    ask("1");
    expect(await answered()).toMatchObject([{ payload: { yes: true } }]);
  });

  test("sends only the code of an error, and reports a defect to onError", async () => {
    const { client, ask, answered, errors } = connected();
    let error: Error = new WsError("PERMISSION_DENIED", "not now");
    handle(client, Confirm, () => {
      throw error;
    });
    ask("1");
    await answered();
    expect(errors).toEqual([]);
    error = new Error("the password is hunter2");
    ask("2");
    expect(await answered(2)).toEqual([
      { id: "1", code: "PERMISSION_DENIED" },
      { id: "2", code: "INTERNAL" },
    ]);
    expect(errors).toEqual(["INTERNAL the password is hunter2"]);
  });

  test.each<[string, unknown, unknown, string]>([
    [
      "a request that does not match its schema",
      { type: "CONFIRM", payload: { text: 5 } },
      { yes: true },
      "INVALID_ARGUMENT",
    ],
    ["a response that does not match its schema", undefined, { yes: "perhaps" }, "INTERNAL"],
  ])("refuses %s", async (_, request, response, code) => {
    const { client, ask, answered } = connected();
    handle(client, Confirm, () => response as never);
    ask("1", request);
    expect(await answered()).toEqual([{ id: "1", code }]);
  });

  test("runs a request once, and does not answer one that the server cancelled", async () => {
    const { world, client, ask, answered, answers } = connected();
    const running: HandleContext[] = [];
    const ends: (() => void)[] = [];
    handle(client, Confirm, (_, context) => {
      running.push(context);
      return new Promise((resolve) => ends.push(() => resolve({ yes: true })));
    });
    ask("1");
    ask("1");
    ask("2");
    await vi.waitUntil(() => running.length === 2);
    world.socket.deliver("$ws:abort", undefined, { correlationId: "1" });
    expect(running.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    for (const end of ends) end();
    expect(await answered()).toMatchObject([{ id: "2" }]);
    expect(answers()).toHaveLength(1);
  });

  test("aborts the handler's signal at the deadline and when the connection is lost, and does not answer", async () => {
    const { world, client, ask, answers } = connected();
    const running: HandleContext[] = [];
    handle(client, Confirm, (_, context) => {
      running.push(context);
      return new Promise(() => undefined);
    });
    ask("1", undefined, 100);
    ask("2");
    await vi.waitUntil(() => running.length === 2);
    world.advance(150);
    expect(running.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    world.socket.end();
    expect(running[1]?.signal.aborted).toBe(true);
    expect(answers()).toEqual([]);
  });
});
