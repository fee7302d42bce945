/** Runs the client suite with both libraries over two WebSocket implementations. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket as WsWebSocket } from "ws";
import { type Conductor, startConductor } from "../client/conductor.ts";
import { Kit } from "../client/kit.ts";
import { dial } from "../client/remote.ts";
import type { Command } from "../client/script.ts";
import { suite } from "../client/suite/index.ts";
import { libraries } from "./libraries.ts";

let conductor: Conductor;
let command: (command: Command) => Promise<unknown>;

beforeAll(async () => {
  conductor = await startConductor();
  command = await dial(conductor.url);
});
afterAll(() => conductor?.stop());

describe.each(libraries)("guide/client: Client ($name)", (library) => {
  describe.each([
    ["the global WebSocket of Node", undefined],
    ["ws", (url: string, protocols: string[]) => new WsWebSocket(url, protocols)],
  ])("a client over %s", (_socket, wsFactory) => {
    const kits: Kit[] = [];
    afterEach(async () => {
      await Promise.all(kits.splice(0).map((kit) => kit.cleanUp()));
    });

    test.each(suite.map(({ name, run }) => [name, run] as const))("%s", async (_name, run) => {
      const kit = new Kit({ library, wsFactory, command });
      kits.push(kit);
      await run(kit);
    });
  });
});

describe("guide/client: Client", () => {
  test("every test of the suite has its own title", () => {
    expect(new Set(suite.map(({ name }) => name)).size).toBe(suite.length);
  });
});
