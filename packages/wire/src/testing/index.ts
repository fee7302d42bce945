/** Entry point `@halyard/wire/testing`. */
export type { ConnectionData } from "../router/connections/peer.ts";
export type { FakeClock } from "./fake-clock.ts";
export type { TestClose, TestConnection, TestFrame } from "./test-connection.ts";
export {
  type ConnectOptions,
  createTestServer,
  type TestServer,
  type TestServerOptions,
} from "./test-server.ts";
