/** A server in memory for tests of handlers: no network, and a clock under the test's control. */
import { uuidv7 } from "@halyard/base";
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Router } from "../router/router.ts";
import type { ServerOptions } from "../router/server/server-options.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { TestConnection } from "./test-connection.ts";

/** The options of `createTestServer()`. */
export interface TestServerOptions extends Omit<ServerOptions, "clock" | "isolated"> {
  /** Wall time at the start, in ms since epoch. Default: 1 January 2026, UTC. */
  readonly epoch?: number;
}

/** Options of `server.connect()`. */
export interface ConnectOptions<Data extends ConnectionData> {
  /** The data that `authenticate` would return. */
  readonly data?: Omit<Data, "clientId">;
  /** False for a plain WebSocket peer, which receives no hello. Default true. */
  readonly greets?: boolean;
}

/** A server in memory, created by `createTestServer()`. */
export interface TestServer<Data extends ConnectionData> {
  /** The time of the server. */
  readonly clock: FakeClock;
  /** Connects a peer; resolves once the router's hooks have run. */
  connect(options?: ConnectOptions<Data>): Promise<TestConnection>;
  /** Closes every connection with 1012. */
  close(): Promise<void>;
}

/**
 * Creates a server of the router in memory, for tests of your handlers.
 *
 * @example
 * ```ts
 * import { createTestServer } from "@halyard/wire/testing";
 * import { createRouter, rpc, z } from "@halyard/wire/zod";
 *
 * const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });
 * const router = createRouter().rpc(Greet, (ctx) => ctx.reply(Greet.response, { text: `Hello, ${ctx.payload.name}!` }));
 *
 * const server = createTestServer(router);
 * const peer = await server.connect();
 * const { text } = await peer.request(Greet, { name: "Ada" }); // "Hello, Ada!"
 * await server.close();
 * ```
 */
export function createTestServer<Data extends ConnectionData>(
  router: Router<Data>,
  options: TestServerOptions = {},
): TestServer<Data> {
  const { epoch, ...serverOptions } = options;
  const clock = new FakeClock(epoch);
  const server = router.attach({ ...serverOptions, clock });
  return {
    clock,
    async connect({ data, greets = true } = {}) {
      const connection = new TestConnection((socket) =>
        server.accept(socket, { ...data, clientId: uuidv7(clock.wall()) }, { greets }),
      );
      await settle();
      return connection;
    },
    async close() {
      await server.stop();
    },
  };
}
