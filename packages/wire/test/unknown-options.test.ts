/** What every function with options says about an option that it does not have. */
import { expect, test } from "vitest";
import { createBunHandler, serve as serveBun } from "../src/adapters/bun.ts";
import { createDurableObjectHandler, createRoomRoutes } from "../src/adapters/cloudflare.ts";
import { createNodeHandler, serve } from "../src/adapters/node.ts";
import { createPublisher, createRouter } from "../src/index.ts";
import { memoryPubSub } from "../src/memory.ts";

type Make = (options: never) => unknown;

const MAKERS: Readonly<Record<string, Make>> = {
  "createRouter()": createRouter,
  "serve()": (options) => serve(createRouter(), options),
  "createNodeHandler()": (options) => createNodeHandler(createRouter(), options),
  "createBunHandler()": (options) => createBunHandler(createRouter(), options),
  "createDurableObjectHandler()": (options) => createDurableObjectHandler(createRouter(), options),
  "createRoomRoutes()": createRoomRoutes,
  "createPublisher()": createPublisher,
};

/** The message of the error that the options cause. */
async function refusal(make: Make | undefined, options: object): Promise<unknown> {
  try {
    await make?.(options as never);
  } catch (error) {
    return error instanceof TypeError && error.message;
  }
  return "accepted";
}

test.each([
  ["createRouter()", "heartbeet", "heartbeat"],
  ["createRouter()", "rpcTimeout", "rpcTimeoutMs"],
  ["serve()", "allowOrigins", "allowedOrigins"],
  ["serve()", "handleSignal", "handleSignals"],
  ["createNodeHandler()", "allowOrigins", "allowedOrigins"],
  ["createBunHandler()", "maxConnection", "maxConnections"],
  ["createDurableObjectHandler()", "authentificate", "authenticate"],
  ["createRoomRoutes()", "roomPatern", "roomPattern"],
  ["createPublisher()", "pubSub", "pubsub"],
])("%s refuses the option %s with the name that was meant", async (owner, wrong, right) => {
  expect(await refusal(MAKERS[owner], { [wrong]: {} })).toBe(
    `${owner} has no option "${wrong}". Did you mean "${right}"?`,
  );
});

test.each(Object.keys(MAKERS))("%s refuses an option that resembles no other by its name", async (owner) => {
  expect(await refusal(MAKERS[owner], { zzz: 1 })).toContain(`${owner} has no option "zzz". Use one of `);
});

test("createPublisher() refuses options of a router, which it does not use", async () => {
  const options = { pubsub: memoryPubSub(), heartbeat: {} };
  expect(await refusal(createPublisher, options)).toContain('createPublisher() has no option "heartbeat".');
});

test("serve() of Bun rejects an unknown option before it listens", async () => {
  await expect(serveBun(createRouter(), { allowOrigins: [] } as object)).rejects.toThrow(
    'serve() has no option "allowOrigins". Did you mean "allowedOrigins"?',
  );
});

test.each([
  [
    { heartbeat: { interval: 5 } },
    'has no option "heartbeat.interval". Did you mean "heartbeat.intervalMs"?',
  ],
  [
    { limits: { maxPayload: 5 } },
    'has no option "limits.maxPayload". Did you mean "limits.maxPayloadBytes"?',
  ],
  [{ hooks: { onopen: 5 } }, 'has no option "hooks.onopen". Did you mean "hooks.onOpen"?'],
])("createRouter(%j) names the nested option and the one that was meant", async (options, message) => {
  expect(await refusal(createRouter, options)).toBe(`createRouter() ${message}`);
});

test("serve({ token: { param } }) names the nested option", async () => {
  expect(await refusal(MAKERS["serve()"], { token: { param: "ticket" } })).toContain(
    'no option "token.param"',
  );
});

test.each([true, 5, "on"])("heartbeat: %s is refused with the form it takes", async (heartbeat) => {
  expect(await refusal(createRouter, { heartbeat })).toBe(
    'The option "heartbeat" of createRouter() must be an object. Its fields are intervalMs, timeoutMs, onStaleConnection.',
  );
});

test.each([false, null])("heartbeat: %s is off, as without the option", async (heartbeat) => {
  const none = { heartbeat, limits: heartbeat, hooks: heartbeat } as object;
  const server = createRouter(none).attach();
  expect(server.options).toEqual(createRouter().attach().options);
  await serve(createRouter(), { port: 0, handleSignals: false, token: heartbeat } as object).then((s) =>
    s.stop(),
  );
});

test("a platform may have members of its own, and an option may be undefined", () => {
  const platform = { pubsub: undefined, name: "own" };
  createRouter({ platform, heartbeat: undefined, limits: undefined } as object);
});

test("an option of createRouter() that is not a number above 0 is refused with its whole name", async () => {
  expect(await refusal(createRouter, { heartbeat: { intervalMs: 0 } })).toContain(
    "The option heartbeat.intervalMs is 0",
  );
  expect(await refusal(createRouter, { limits: { maxPayloadBytes: -1 } })).toContain(
    "The option limits.maxPayloadBytes is -1",
  );
  expect(await refusal(createRouter, { rpcTimeoutMs: "5" })).toContain("The option rpcTimeoutMs is 5");
});
