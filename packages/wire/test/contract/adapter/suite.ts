/** The servers that the adapter suites run against, and the features of a platform. */
import { afterAll, beforeAll } from "vitest";
import type { LogEntry } from "../../fixtures/app.ts";
import type { ScenarioName } from "../../fixtures/scenarios.ts";
import { connect, HALYARD, type PeerOptions } from "./peer.ts";

/** A running server that serves `fixtures/app.ts`. */
export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
  /** Only for a server in its own process. */
  readonly process?: {
    readonly pid: number;
    readonly exited: Promise<number | null>;
    output(): string;
  };
}

/** The features of an adapter. Tests of missing features are skipped. */
export interface Capabilities {
  /** Path, Origin, `authenticate`, `refresh`, application protocols. */
  readonly admission: boolean;
  /** The platform reports a peer that leaves before its upgrade is answered. */
  readonly departure: boolean;
  /** The hooks and other options of `serve`. */
  readonly serveOptions: boolean;
  /** Health and metrics over HTTP. */
  readonly endpoints: boolean;
  /** A waiting handler continues while other frames arrive. */
  readonly patience: boolean;
  /** The adapter configures the transport, which reports refused frames: no compression, no invalid UTF-8. */
  readonly transport: boolean;
  /** The platform reports the number of unsent bytes. */
  readonly backpressure: boolean;
  readonly heartbeat: boolean;
  /** `drain()`, `stop()` and SIGTERM. */
  readonly shutdown: boolean;
}

export interface Suite {
  readonly can: Capabilities;
  /** Starts a server for one test, which may stop it. */
  start(scenario: ScenarioName): Promise<RunningServer>;
  /** The server of a scenario, shared by all tests of a platform and started with the first. */
  serving(scenario: ScenarioName): () => RunningServer;
}

/** For `expect.poll`: conditions that become true soon. */
export const POLL: { readonly timeout: number; readonly interval: number } = {
  timeout: 10_000,
  interval: 20,
};

/** Shares one server per scenario. Call it within a `describe`. */
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

/** What the server's hooks recorded, for one connection if its id is given. */
export async function readLog(url: string, clientId?: string, options?: PeerOptions): Promise<LogEntry[]> {
  const observer = await connect(url, { protocols: [HALYARD], ...options });
  const { payload } = await observer.request("LOG", clientId === undefined ? {} : { clientId });
  await observer.close();
  return (payload as { entries: LogEntry[] }).entries;
}
