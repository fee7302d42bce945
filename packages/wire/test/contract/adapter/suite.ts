/** What the adapter suites share: the servers they run against, and what a platform can do. */
import { afterAll, beforeAll } from "vitest";
import type { LogEntry } from "../../fixtures/app.ts";
import type { ScenarioName } from "../../fixtures/scenarios.ts";
import { connect, HALYARD, type PeerOptions } from "./peer.ts";

/** A running server that serves `fixtures/app.ts`. */
export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
  /** Of a server that is a process of its own. */
  readonly process?: {
    readonly pid: number;
    readonly exited: Promise<number | null>;
    output(): string;
  };
}

/** What an adapter has; what it lacks is not tested. */
export interface Capabilities {
  /** Path, Origin, `authenticate`, `refresh`, own protocols. */
  readonly admission: boolean;
  /** The hooks and other options of `serve`. */
  readonly serveOptions: boolean;
  /** Health and metrics over HTTP. */
  readonly endpoints: boolean;
  /** A handler that only waits goes on while other frames come. */
  readonly patience: boolean;
  /** The transport is the adapter's to set, and tells what it refused: no compression, no text that is no text. */
  readonly transport: boolean;
  /** The platform tells how many bytes are unsent. */
  readonly backpressure: boolean;
  readonly heartbeat: boolean;
  /** `drain()`, `stop()` and SIGTERM. */
  readonly shutdown: boolean;
}

export interface Suite {
  readonly can: Capabilities;
  /** A server of the test's own, for it to end. */
  start(scenario: ScenarioName): Promise<RunningServer>;
  /** The server of a scenario, shared by all tests of a platform and started with the first. */
  serving(scenario: ScenarioName): () => RunningServer;
}

/** For `expect.poll`: conditions that hold soon. */
export const POLL: { readonly timeout: number; readonly interval: number } = {
  timeout: 10_000,
  interval: 20,
};

/** Shares one server per scenario; to be used within a `describe`. */
export function shareServers(start: Suite["start"]): Suite["serving"] {
  const starting = new Map<ScenarioName, Promise<RunningServer>>();
  afterAll(async () => {
    for (const server of starting.values()) await (await server).stop();
  });
  return (scenario) => {
    let server: RunningServer | undefined;
    beforeAll(async () => {
      const shared = starting.get(scenario) ?? start(scenario);
      starting.set(scenario, shared);
      server = await shared;
    });
    return () => {
      if (server === undefined) throw new Error("The server is not running: use it within a test.");
      return server;
    };
  };
}

/** What the hooks of the server saw, of one connection if its id is given. */
export async function readLog(url: string, clientId?: string, options?: PeerOptions): Promise<LogEntry[]> {
  const observer = await connect(url, { protocols: [HALYARD], ...options });
  const { payload } = await observer.request("LOG", clientId === undefined ? {} : { clientId });
  await observer.close();
  return (payload as { entries: LogEntry[] }).entries;
}
