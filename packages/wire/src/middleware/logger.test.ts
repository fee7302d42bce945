import { afterEach, describe, expect, test, vi } from "vitest";
import { WsError } from "../protocol/error.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc, z } from "../zod.ts";
import { type LogEntry, logger } from "./logger.ts";

const CANARY = "canary-41c2";
const Ask = rpc("ASK", { how: z.string(), secret: z.string() }, "ANSWER", { secret: z.string() });
const Tell = message("TELL", { secret: z.string() }, { note: z.string() });

interface Data {
  readonly clientId: string;
  readonly token?: string;
}

async function serve(log?: (entry: LogEntry) => unknown) {
  let now = 0;
  const router = createRouter<Data>()
    .onError(() => undefined)
    .use(logger<Data>({ ...(log && { log }), now: () => now }))
    .rpc(Ask, (ctx) => {
      now += 12;
      switch (ctx.payload.how) {
        case "throw":
          throw new TypeError(`cannot read ${ctx.payload.secret}`);
        case "refuse":
          throw new WsError("NOT_FOUND", ctx.payload.secret, { secret: ctx.payload.secret });
        case "odd":
          return Promise.reject(ctx.payload.secret);
        default:
          return ctx.reply(Ask.response, { secret: ctx.payload.secret });
      }
    })
    .on(Tell, () => {
      now += 3;
    });
  const peer = await createTestServer(router).connect({ data: { token: CANARY } });
  const [hello] = peer.frames;
  const { clientId } = (hello as { payload: { clientId: string } }).payload;
  return { peer, clientId };
}

describe("logger", () => {
  afterEach(() => vi.restoreAllMocks());

  test("reports an asynchronous log that fails, and the message is answered", async () => {
    const printed = vi.spyOn(console, "error").mockReturnValue();
    const { peer } = await serve(async () => {
      throw new Error("the log is full");
    });
    await peer.send(Ask, { how: "", secret: CANARY }, { correlationId: "1" });
    expect(peer.frames.at(-1)).toMatchObject({ type: "ANSWER" });
    expect(printed.mock.calls).toEqual([["[halyard] The option log of logger() failed.", expect.any(Error)]]);
  });

  test("writes one entry per message with its outcome and duration", async () => {
    const entries: LogEntry[] = [];
    const { peer, clientId } = await serve((entry) => entries.push(entry));
    await peer.send(Ask, { how: "", secret: CANARY }, { correlationId: "1" });
    await peer.send(Tell, { secret: CANARY }, { note: CANARY });
    const common = { type: "ASK", clientId, isRpc: true, durationMs: 12, outcome: "failed" };
    for (const [i, how] of ["throw", "refuse", "odd"].entries())
      await peer.send(Ask, { how, secret: CANARY }, { correlationId: `f${i}` });
    expect(entries).toEqual([
      { ...common, correlationId: "1", outcome: "done" },
      { type: "TELL", clientId, isRpc: false, durationMs: 3, outcome: "done" },
      { ...common, correlationId: "f0", error: "TypeError" },
      { ...common, correlationId: "f1", error: "NOT_FOUND" },
      { ...common, correlationId: "f2", error: "string" },
    ]);
  });

  test("never writes a payload, the application's meta, connection data or an error's message", async () => {
    const lines: unknown[] = [];
    for (const method of ["log", "info", "warn", "error", "debug"] as const)
      vi.spyOn(console, method).mockImplementation((...parts) => lines.push(parts));
    const { peer } = await serve();
    for (const how of ["", "throw", "refuse", "odd"])
      await peer.send(Ask, { how, secret: CANARY }, { correlationId: "1" });
    await peer.send(Tell, { secret: CANARY }, { note: CANARY });
    expect(lines).toHaveLength(5);
    expect(JSON.stringify(lines)).not.toContain(CANARY);
  });

  test("fails the message and not the server when the log function throws", async () => {
    const { peer } = await serve(() => {
      throw new Error("disk full");
    });
    await peer.send(Ask, { how: "", secret: "x" }, { correlationId: "1" });
    await peer.send(Ask, { how: "", secret: "x" }, { correlationId: "2" });
    expect(peer.received(Ask.response)).toHaveLength(2);
  });
});
