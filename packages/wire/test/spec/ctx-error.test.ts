import { describe, expect, test } from "vitest";
import { type AnyErrorCode, ERROR_CODES, type ErrorOptions } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, framesOf, outcomeOf } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)("guide/errors: Sending an error ($name)", ({ createRouter, message, rpc }) => {
  const Fail = rpc("FAIL", undefined, "FINE", undefined);

  /** The error frame for a request whose handler calls `ctx.error` with these arguments. */
  async function failWith(
    code: AnyErrorCode,
    text?: string,
    details?: Record<string, unknown>,
    options?: ErrorOptions,
  ) {
    const router = createRouter().rpc(Fail, (ctx) => ctx.error(code, text, details, options));
    const peer = await createTestServer(router, { epoch: 1_000 }).connect();
    await peer.send(Fail, undefined, { correlationId: "1" });
    const [frame] = answersTo(peer, "1");
    return frame;
  }

  test("ctx.error needs only a code", async () => {
    const frame = await failWith("NOT_FOUND");
    expect(frame).toMatchObject({ type: "$ws:error", payload: { code: "NOT_FOUND" } });
  });

  test("ctx.error sends message, details and both options as given", async () => {
    const frame = await failWith(
      "UNAVAILABLE",
      "later",
      { step: 2 },
      { retryable: false, retryAfterMs: 250 },
    );
    expect(frame).toEqual({
      type: "$ws:error",
      meta: { timestamp: 1_000, correlationId: "1" },
      payload: {
        code: "UNAVAILABLE",
        message: "later",
        details: { step: 2 },
        retryable: false,
        retryAfterMs: 250,
      },
    });
  });

  test("ctx.error sends retryable only when it was given", async () => {
    expect((await failWith("UNAVAILABLE", "later"))?.payload).not.toHaveProperty("retryable");
    expect((await failWith("NOT_FOUND", "no", undefined, { retryable: true }))?.payload).toMatchObject({
      retryable: true,
    });
  });

  test("ctx.error accepts custom codes", async () => {
    expect((await failWith("ROOM_FULL", "try another", undefined, { retryAfterMs: 5 }))?.payload).toEqual({
      code: "ROOM_FULL",
      message: "try another",
      retryAfterMs: 5,
    });
  });

  test.each(Object.entries(ERROR_CODES).filter(([, info]) => info.class === "terminal"))(
    "ctx.error with %s and retryAfterMs throws and sends nothing",
    async (code) => {
      const thrown: unknown[] = [];
      const router = createRouter().rpc(Fail, (ctx) => {
        try {
          ctx.error(code, "no", undefined, { retryAfterMs: 100 });
        } catch (error) {
          thrown.push(error);
        }
        ctx.reply(Fail.response);
      });
      const peer = await createTestServer(router).connect();
      await peer.send(Fail, undefined, { correlationId: "1" });
      expect(thrown).toEqual([expect.objectContaining({ message: expect.stringContaining(code) })]);
      expect(outcomeOf(peer, "1")).toBe("FINE");
    },
  );

  test("events and requests receive the same error frame, and it has a correlationId only when the message had one", async () => {
    const Poke = message("POKE");
    const router = createRouter().on(Poke, (ctx) => ctx.error("NOT_FOUND", "no such user"));
    const peer = await createTestServer(router, { epoch: 5 }).connect();
    await peer.send(Poke);
    await peer.send(Poke, undefined, { correlationId: "poke" });
    expect(framesOf(peer, "$ws:error").map((frame) => frame.meta)).toEqual([
      { timestamp: 5 },
      { timestamp: 5, correlationId: "poke" },
    ]);
  });

  test("an event handler may send several errors", async () => {
    const Poke = message("POKE");
    const router = createRouter().on(Poke, (ctx) => {
      ctx.error("NOT_FOUND");
      ctx.error("ABORTED");
    });
    const peer = await createTestServer(router).connect();
    await peer.send(Poke);
    expect(errorsOf(peer).map(({ code }) => code)).toEqual(["NOT_FOUND", "ABORTED"]);
  });

  test("ctx.error does not call onError", async () => {
    const reported: string[] = [];
    const router = createRouter()
      .onError((error) => void reported.push(error.code))
      .rpc(Fail, (ctx) => ctx.error("NOT_FOUND"));
    const peer = await createTestServer(router).connect();
    await peer.send(Fail);
    expect(errorsOf(peer)).toMatchObject([{ code: "NOT_FOUND" }]);
    expect(reported).toEqual([]);
  });
});
