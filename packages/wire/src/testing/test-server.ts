/** Drives a router without a network, on a clock that moves only when told to. */
import { uuidv7 } from "../protocol/uuid.ts";
import type { ConnectionData } from "../router/peer.ts";
import type { Router } from "../router/router.ts";
import type { ServerOptions } from "../router/server-options.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { TestConnection } from "./test-connection.ts";

export interface TestServerOptions extends Omit<ServerOptions, "clock" | "isolated"> {
  /** Wall time at the start, in ms since epoch. */
  readonly epoch?: number;
}

export interface ConnectOptions<Data extends ConnectionData> {
  /** What `authenticate` would have given. */
  readonly data?: Omit<Data, "clientId">;
  /** False for a plain WebSocket peer. Default true. */
  readonly greets?: boolean;
}

export interface TestServer<Data extends ConnectionData> {
  readonly clock: FakeClock;
  /** Connects a peer; resolves once the router's hooks have run. */
  connect(options?: ConnectOptions<Data>): Promise<TestConnection>;
  /** Closes every connection with 1012. */
  close(): Promise<void>;
}

/**
 * A server of the router in memory, for tests of your handlers.
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
