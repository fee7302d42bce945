/** Typed progress, requests of the server, bytes and durable calls, over a real socket and with the real client. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { attachCall, handle, startCall, type WsClient, wsClient } from "../../../src/client/index.ts";
import { AskMe, Greet, Question, Report, Rows } from "../../fixtures/app.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

export function streamTests(suite: Suite): void {
  const open = suite.serving("open");
  const clients: WsClient[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  const connect = async (): Promise<WsClient> => {
    const client = wsClient({ url: open().url });
    client.onError(() => undefined);
    clients.push(client);
    await client.connect();
    return client;
  };

  describe("typed progress", () => {
    test("reaches a slow reader complete and in order, and then the response", async () => {
      const call = (await connect()).request(Rows, { n: 500 });
      const got: number[] = [];
      for await (const { i } of call) if (got.push(i) % 100 === 0) await delay(5);
      expect(got).toEqual(upTo(500));
      expect((await call).payload).toEqual({ sent: 500 });
    });

    test("of several megabytes loses nothing, although the socket's buffer is smaller", async () => {
      const call = (await connect()).request(Rows, { n: 400, pad: 10_000 });
      let next = 0;
      for await (const { i, pad } of call) {
        expect([i, pad.length]).toEqual([next, 10_000]);
        next++;
      }
      expect(next).toBe(400);
    });

    test("that the application does not read is discarded, and the response arrives", async () => {
      const { payload } = await (await connect()).request(Rows, { n: 1_000 });
      expect(payload).toEqual({ sent: 1_000 });
    });

    test.skipIf(!suite.can.patience)("stops within the credit when the reader leaves the loop", async () => {
      const client = await connect();
      const call = client.request(Rows, { n: 100_000 });
      const outcome = call.catch(({ code }: { code: string }) => code);
      for await (const { i } of call) if (i === 3) break;
      expect(await outcome).toBe("CANCELLED");
      const cancelled = async () =>
        (await readLog(open().url))
          .filter(({ what }) => what === "rows cancelled")
          .map(({ sent }) => Number(sent));
      await expect.poll(cancelled, POLL).not.toEqual([]);
      for (const sent of await cancelled()) expect(sent).toBeLessThanOrEqual(128);
    });
  });

  describe.skipIf(!suite.can.patience)("a request of the server", () => {
    test("is answered by the client's handler, with bytes in both directions", async () => {
      const client = await connect();
      handle(client, Question, ({ data }) => ({ data: data.slice().reverse() }));
      const { payload } = await client.request(AskMe, { timeoutMs: 5_000 });
      expect(payload).toEqual({ outcome: "answer 3,2,1" });
    });

    test("gets UNIMPLEMENTED without a handler, and DEADLINE_EXCEEDED from one that is too slow", async () => {
      const client = await connect();
      const outcome = async (timeoutMs: number) =>
        (await client.request(AskMe, { timeoutMs })).payload.outcome;
      expect(await outcome(5_000)).toBe("UNIMPLEMENTED");
      handle(client, Question, () => new Promise(() => undefined));
      expect(await outcome(100)).toBe("DEADLINE_EXCEEDED");
      expect((await client.request(Greet, { name: "Ada" })).payload.text).toBe("Hello, Ada!");
    });
  });

  describe("a durable call", () => {
    test("gives its items and its response to the client that started it, and again to one that attaches", async () => {
      const call = startCall(await connect(), Report, { n: 100 });
      const read = async (from: typeof call): Promise<number[]> => {
        const got: number[] = [];
        for await (const { i } of from) got.push(i);
        return got;
      };
      expect(await read(call)).toEqual(upTo(100));
      const again = attachCall(await connect(), Report, call.id);
      expect(await read(again)).toEqual(upTo(100));
      expect((await again.result).payload).toEqual({ sent: 100 });
    });
  });
}
