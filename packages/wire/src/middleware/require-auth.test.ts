import { describe, expect, test } from "vitest";
import type { MiddlewareContext } from "../router/context.ts";
import { createTestServer } from "../testing/index.ts";
import { createRouter, message, rpc } from "../zod.ts";
import { requireAuth } from "./require-auth.ts";

const Read = rpc("READ", undefined, "TEXT", undefined);
const Seen = message("SEEN");

interface Data {
  readonly clientId: string;
  readonly userId?: string;
  readonly role?: string;
}

function serve(predicate?: (ctx: MiddlewareContext<Data>) => boolean | Promise<boolean>) {
  const handled: string[] = [];
  const router = createRouter<Data>()
    .onError(() => undefined)
    .use(predicate === undefined ? requireAuth<Data>() : requireAuth<Data>(predicate))
    .rpc(Read, (ctx) => {
      handled.push(ctx.type);
      ctx.reply(Read.response);
    })
    .on(Seen, (ctx) => handled.push(ctx.type));
  return { server: createTestServer(router), handled };
}

describe("requireAuth", () => {
  test("admits a caller with a user id and refuses every other caller", async () => {
    const { server, handled } = serve();
    const user = await server.connect({ data: { userId: "ada" } });
    const stranger = await server.connect();
    await user.request(Read);
    await expect(stranger.request(Read)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await stranger.send(Seen);
    expect(handled).toEqual(["READ"]);
    expect(stranger.frames.at(-1)).toMatchObject({
      type: "$ws:error",
      payload: { code: "UNAUTHENTICATED" },
    });
    expect(stranger.closedWith).toBeUndefined();
  });

  test("uses the application's predicate instead, which may be asynchronous", async () => {
    for (const predicate of [
      (ctx: { data: Data }) => ctx.data.role === "admin",
      async (ctx: { data: Data }) => ctx.data.role === "admin",
    ]) {
      const { server } = serve(predicate);
      const admin = await server.connect({ data: { role: "admin" } });
      const user = await server.connect({ data: { userId: "ada" } });
      await admin.request(Read);
      await expect(user.request(Read)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
  });

  test("refuses when the predicate throws or rejects, and sends no detail of it", async () => {
    for (const predicate of [
      () => {
        throw new Error("no database");
      },
      () => Promise.reject(new Error("no database")),
    ]) {
      const { server, handled } = serve(predicate);
      const peer = await server.connect({ data: { userId: "ada" } });
      await expect(peer.request(Read)).rejects.toMatchObject({ code: "INTERNAL", message: "Internal error" });
      expect(handled).toEqual([]);
    }
  });

  test("reads the current data at each message", async () => {
    const SignIn = message("SIGN_IN");
    const router = createRouter<Data>()
      .on(SignIn, (ctx) => ctx.assignData({ userId: "ada" }))
      .route(Read)
      .use(requireAuth<Data>())
      .rpc((ctx) => ctx.reply(Read.response));
    const peer = await createTestServer(router).connect();
    await expect(peer.request(Read)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await peer.send(SignIn);
    await peer.request(Read);
  });
});
