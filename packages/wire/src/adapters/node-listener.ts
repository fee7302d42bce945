/** The handler for a `node:http` server as applications see it, without the types of `ws`. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { DrainResult } from "../router/server/drain.ts";
import type { Health } from "./endpoints.ts";

/** For your own `node:http` server: pass its `upgrade` events here. */
export interface NodeHandler {
  /** A listener for the event `upgrade`. With the option `path`, other listeners get the upgrades for other paths. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The health of the server. */
  health(): Health;
  /** Announces the shutdown to clients, waits for running requests, and closes connections with 1012. */
  drain(): Promise<DrainResult>;
  /** Closes every connection with 1012. */
  stop(): Promise<void>;
}
