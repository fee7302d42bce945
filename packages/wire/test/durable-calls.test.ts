import { expect, test } from "vitest";
import { memoryPubSub } from "../src/memory.ts";
import { createRouter, rpc, z } from "../src/zod.ts";
import { durableCallContract } from "./contract/durable-calls.ts";

durableCallContract("memory", async () => {
  const pubsub = memoryPubSub();
  return { near: pubsub, far: pubsub, stop: async () => pubsub.close() };
});

const Ask = rpc("ASK", undefined, "ASK_END", undefined, { progress: z.string(), durable: { keepMs: 1_000 } });

test("a durable request needs the owner of its calls", () => {
  expect(() => createRouter().rpc(Ask as never, () => undefined)).toThrow("owner");
});

test("a durable request needs a pub/sub that keeps history, and the error says which ones do", () => {
  const pubsub = { subscribe() {}, unsubscribe() {}, publish: () => ({ ok: true }) as const, close() {} };
  expect(() => createRouter({ pubsub }).rpc(Ask, { owner: () => "ann" }, () => undefined)).toThrow(
    "redisPubSub()",
  );
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 40 * 24 * 60 * 60_000])(
  "keepMs must not be %d",
  (keepMs) => {
    expect(() =>
      rpc("ASK", undefined, "ASK_END", undefined, { progress: z.string(), durable: { keepMs } }),
    ).toThrow("durable.keepMs of ASK");
  },
);
