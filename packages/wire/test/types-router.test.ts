/** Types of handlers' results and of connection data: code that must compile and code that must not. */
import { describe, expectTypeOf, test } from "vitest";
import type { DisconnectMatch } from "../src/index.ts";
import { createRouter, rpc, z } from "../src/zod.ts";

const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });
const Touch = rpc("TOUCH", undefined, "TOUCHED", undefined);

interface Session {
  readonly clientId: string;
  readonly userId: string;
  readonly seats?: number;
  readonly isAdmin?: boolean;
}

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

describe("the result of a request handler", () => {
  test("is its response, at once or as a promise, or nothing", () => {
    createRouter()
      .rpc(Greet, (ctx) => ({ text: ctx.payload.name }))
      .rpc(Greet, async (ctx) => ({ text: ctx.payload.name }))
      .rpc(Greet, (ctx) => ctx.reply(Greet.response, { text: "x" }))
      .rpc(Greet, (ctx) => ctx.reply(Greet.response, { text: "x" }, { waitFor: "ack" }))
      .rpc(Greet, async (ctx) => {
        ctx.error("NOT_FOUND", "no");
      })
      .rpc(Greet, (ctx) => (ctx.payload.name === "" ? ctx.error("NOT_FOUND") : { text: "x" }))
      .rpc(Touch, async () => undefined);
    createRouter()
      .route(Greet)
      .rpc(() => ({ text: "x" }));
  });

  test("is nothing else", () => {
    neverRun(() => {
      // @ts-expect-error the response has no such field
      createRouter().rpc(Greet, () => ({ txt: "x" }));
      // @ts-expect-error text is a string
      createRouter().rpc(Greet, async () => ({ text: 5 }));
      // @ts-expect-error the response has no payload
      createRouter().rpc(Touch, () => ({ text: "x" }));
      const route = createRouter().route(Greet);
      // @ts-expect-error text is a string
      route.rpc(() => ({ text: 5 }));
    });
  });
});

describe("connection data", () => {
  test("of a merged router is at most that of the other", () => {
    const needs = createRouter<Session>();
    createRouter<Session>().merge(createRouter()).merge(needs);
    createRouter<Session & { role: string }>().merge(needs);
    neverRun(() => {
      // @ts-expect-error there is no userId
      createRouter().merge(needs);
      // @ts-expect-error userId is a number
      createRouter<{ clientId: string; userId: number }>().merge(needs);
      // @ts-expect-error userId may be missing
      createRouter<{ clientId: string; userId?: string }>().merge(needs);
    });
  });

  test("in disconnect has the names and types of the router's", () => {
    const router = createRouter<Session>();
    neverRun(() => [
      router.disconnect({ data: { userId: "u", seats: 2 } }),
      router.disconnect({ clientId: "c", topic: "t" }),
      // @ts-expect-error there is no such field
      router.disconnect({ data: { usrId: "u" } }),
      // @ts-expect-error userId is a string
      router.disconnect({ data: { userId: 5 } }),
      // @ts-expect-error only strings and numbers can be compared in other processes
      router.disconnect({ data: { isAdmin: true } }),
    ]);
    expectTypeOf<NonNullable<DisconnectMatch["data"]>["anything"]>().toEqualTypeOf<
      string | number | undefined
    >();
  });
});
