import { afterEach, expect, test } from "vitest";
import { MemoryPubSub } from "../pubsub/memory.ts";
import { createRouter } from "../zod.ts";
import { createNodeHandler, type ServerHandle, serve } from "./node.ts";

let server: ServerHandle | undefined;
afterEach(() => server?.stop());

test("a server without its broker is degraded but answers 200, because removing all servers would not help", async () => {
  const pubsub = Object.assign(new MemoryPubSub(), { status: { connected: true, gaps: 0, refused: 0 } });
  const router = createRouter({ pubsub, heartbeat: {} });
  server = await serve(router, { port: 0, host: "127.0.0.1", healthPath: "/health" });
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${server?.port}/health`);
    return { status: response.status, body: await response.json() };
  };
  expect(await ask()).toEqual({ status: 200, body: { status: "ok", connections: 0, bus: "connected" } });
  pubsub.status = { connected: false, gaps: 0, refused: 0 };
  const body = { status: "degraded", connections: 0, bus: "disconnected" };
  expect(await ask()).toEqual({ status: 200, body });
});

test("a handler reports its health without HTTP too", async () => {
  const handler = createNodeHandler(createRouter({ heartbeat: {} }));
  expect(handler.health()).toEqual({ status: "ok", connections: 0 });
  await handler.drain();
  expect(handler.health()).toEqual({ status: "draining", connections: 0 });
});

test("a metrics path without metrics throws at the start", async () => {
  const options = { port: 0, host: "127.0.0.1", metricsPath: "/metrics" };
  await expect(serve(createRouter({ heartbeat: {} }), options)).rejects.toThrow(/createMetrics\(\)/);
});
