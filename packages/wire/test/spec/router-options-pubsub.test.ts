import { describe, expect, test, vi } from "vitest";
import { createTestServer } from "../../src/testing/index.ts";
import { createRouter, message } from "../../src/zod.ts";

const made = vi.hoisted(() => ({ count: 0 }));

vi.mock("../../src/pubsub/memory.ts", async (original) => {
  const { MemoryPubSub } = await original<typeof import("../../src/pubsub/memory.ts")>();
  return {
    MemoryPubSub: class extends MemoryPubSub {
      constructor() {
        super();
        made.count++;
      }
    },
  };
});

describe("guide/router: Options", () => {
  test("the router creates the in-memory pub/sub on first use and keeps it", async () => {
    const Ping = message("PING");
    const router = createRouter().on(Ping, (ctx) => ctx.subscribe("t"));
    const peer = await createTestServer(router).connect();
    expect(made.count).toBe(0);
    await peer.send(Ping);
    await router.publish("t", Ping);
    expect(made.count).toBe(1);
    expect(peer.frames.at(-1)?.type).toBe("PING");
  });
});
