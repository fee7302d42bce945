import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { WsError } from "../../src/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, outcomeOf } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/rpc: Returning the response ($name)",
  ({ createRouter, rpc, string, number }) => {
    const Greet = rpc("GREET", { name: string() }, "GREETING", { text: string() });
    const Touch = rpc("TOUCH", undefined, "TOUCHED", undefined);
    const Count = rpc("COUNT", undefined, "COUNTED", { n: number() });

    test.each([
      ["without middleware", 0],
      ["behind synchronous middleware", 1],
      ["behind asynchronous middleware", 2],
    ])("a handler may return its response, at once or as a promise, %s", async (_, kind) => {
      const router = createRouter()
        .rpc(Greet, (ctx) => ({ text: `Hello, ${ctx.payload.name}` }))
        .rpc(Count, async () => {
          await Promise.resolve();
          return { n: 1 };
        });
      if (kind === 1) router.use((_ctx, next) => next());
      if (kind === 2) {
        router.use(async (_ctx, next) => {
          await Promise.resolve();
          await next();
        });
      }
      const peer = await createTestServer(router).connect();
      expect(await peer.request(Greet, { name: "Ada" })).toEqual({ text: "Hello, Ada" });
      expect(await peer.request(Count)).toEqual({ n: 1 });
    });

    test("the first response wins: a value returned after ctx.reply or ctx.error is ignored", async () => {
      const router = createRouter()
        .rpc(Greet, (ctx) => {
          ctx.reply(Greet.response, { text: "replied" });
          return { text: "returned" };
        })
        .rpc(Count, (ctx) => {
          ctx.error("NOT_FOUND", "No such counter.");
          return { n: 1 };
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Greet, { name: "Ada" }, { correlationId: "1" });
      await peer.send(Count, undefined, { correlationId: "2" });
      expect(answersTo(peer, "1")).toMatchObject([{ payload: { text: "replied" } }]);
      expect(outcomeOf(peer, "2")).toBe("NOT_FOUND");
    });

    test.each([
      ["without middleware", false],
      ["behind middleware", true],
    ])(
      "a returned value that does not match is INTERNAL and reaches onError with the field, %s",
      async (_, wrapped) => {
        const seen: WsError[] = [];
        const router = createRouter()
          .onError((error) => void seen.push(error))
          .rpc(Greet, (() => ({ text: 5 })) as never)
          .rpc(Count, (async () => ({ n: "five" })) as never)
          .rpc(Touch, (() => ({ unexpected: true })) as never);
        if (wrapped) router.use((_ctx, next) => next());
        const peer = await createTestServer(router).connect();
        await peer.send(Greet, { name: "Ada" }, { correlationId: "1" });
        await peer.send(Count, undefined, { correlationId: "2" });
        await peer.send(Touch, undefined, { correlationId: "3" });
        expect(["1", "2", "3"].map((id) => outcomeOf(peer, id))).toEqual([
          "INTERNAL",
          "INTERNAL",
          "INTERNAL",
        ]);
        expect(seen.map(({ message }) => message)).toEqual([
          expect.stringContaining("GREETING"),
          expect.stringContaining("COUNTED"),
          expect.stringContaining("TOUCHED"),
        ]);
        expect(seen[0]?.details).toMatchObject({ issues: [{ path: "text" }] });
        expect(errorsOf(peer).every(({ details }) => details === undefined)).toBe(true);
      },
    );

    test("a handler that returns nothing has not answered, and the server says so once per type", async () => {
      const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
      onTestFinished(() => warn.mockRestore());
      const Silent = rpc(`SILENT_${Math.random()}`, undefined, "SPOKEN", undefined);
      const server = createTestServer(createRouter({ rpcTimeoutMs: 500 }).rpc(Silent, () => undefined));
      const peer = await server.connect();
      await peer.send(Silent, undefined, { correlationId: "1" });
      await peer.send(Silent, undefined, { correlationId: "2" });
      expect(answersTo(peer, "1")).toEqual([]);
      await server.clock.advance(600);
      expect([outcomeOf(peer, "1"), outcomeOf(peer, "2")]).toEqual([
        "DEADLINE_EXCEEDED",
        "DEADLINE_EXCEEDED",
      ]);
      expect(warn).toHaveBeenCalledExactlyOnceWith(
        `[halyard] The handler of ${Silent.type} finished without a response, so its caller waits until the deadline. Return the response, or call ctx.reply() or ctx.error().`,
      );
    });
  },
);
