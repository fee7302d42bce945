import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { memoryPubSub } from "../../memory.ts";
import { createTestServer } from "../../testing/index.ts";
import { channel, createRouter, message, z } from "../../zod.ts";

/** A module with declarations, which a bundler may copy. */
function chatModule() {
  const Said = message("SAID", { text: z.string() });
  const Room = channel("room:{id}", { params: { id: z.string() }, events: [Said] });
  return {
    Said,
    Room,
    create: (options = {}) => createRouter(options).channel(Room, { authorize: () => true }),
  };
}

const { Said, Room, create: createChat } = chatModule();
const say = (router: ReturnType<typeof createChat>) =>
  router.to(Room, { id: "a" }).publish(Said, { text: "x" });

const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
const SERVED = Symbol.for("@halyard/wire: served");
beforeEach(() => {
  warn.mockClear();
  // Each test stands for a process.
  Reflect.deleteProperty(globalThis, SERVED);
});
afterEach(() => vi.unstubAllEnvs());

test("a publish of a router without a server and without a broker warns once per process, also in production", async () => {
  vi.stubEnv("NODE_ENV", "production");
  expect(await say(createChat())).toEqual({ ok: true, matchedLocal: 0 });
  await createRouter().publish("news", Said, { text: "x" });
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/copy.*globalThis.*pubsub.*createPublisher/)]]);
});

test("a publish warns when clients are connected to a copy of its router, although it has a server itself", async () => {
  const [seen, copy] = [createChat(), chatModule().create()];
  for (const router of [seen, copy]) createTestServer(router);
  await say(copy);
  expect(warn).not.toHaveBeenCalled();
  await createTestServer(seen).connect();
  await say(seen);
  expect(warn).not.toHaveBeenCalled();
  await say(copy);
  expect(warn).toHaveBeenCalledOnce();
});

test("a copy whose server has stopped is no reason for a warning: a hot reload replaces it", async () => {
  const [old, reloaded] = [createChat(), chatModule().create()];
  const server = createTestServer(old);
  await server.connect();
  await server.close();
  createTestServer(reloaded);
  await say(reloaded);
  expect(warn).not.toHaveBeenCalled();
});

test("routers that share their declarations, such as one per tenant, are no copies of each other", async () => {
  const [first, second] = [createChat(), createChat()];
  for (const router of [first, second]) createTestServer(router);
  await createTestServer(first).connect();
  await say(second);
  expect(warn).not.toHaveBeenCalled();
  await say(chatModule().create());
  expect(warn).toHaveBeenCalledOnce();
});

test("routers that declare something else, or share the pub/sub of a server, are no reason for a warning", async () => {
  const pubsub = memoryPubSub();
  await createTestServer(createChat({ pubsub })).connect();
  const admin = createRouter().on(Said, () => undefined);
  createTestServer(admin);
  await admin.publish("news", Said, { text: "x" });
  await say(createChat({ pubsub }));
  expect(warn).not.toHaveBeenCalled();
});
