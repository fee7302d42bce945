/** The environment of the client's suite in every runtime: a validator, servers, clients and assertions. */
import { createClient, wsClient } from "../../src/client/client.ts";
import type { ClientState } from "../../src/client/connection.ts";
import type { ClientErrorContext } from "../../src/client/failures.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { WsClient } from "../../src/client/ws-client.ts";
import { WsError } from "../../src/protocol/error.ts";
import type { Library } from "../spec/libraries.ts";
import { FakeWorld } from "./fake-world.ts";
import type { Command, Received, Script } from "./script.ts";

export interface Runtime {
  readonly library: Library;
  /** Creates the client's sockets. Default: the platform's WebSocket. */
  readonly wsFactory: ClientOptions["wsFactory"] | undefined;
  command(command: Command): Promise<unknown>;
}

/** One test of the client: its title and its code. */
export interface Case {
  readonly name: string;
  readonly run: (kit: Kit) => Promise<void>;
}

/** The schemas that most tests use. */
export function schemasOf({ message, rpc, string, optional }: Library) {
  return {
    Note: message("NOTE", { text: string() }),
    Tagged: message("TAGGED", { text: string() }, { room: optional(string()) }),
    Bare: message("BARE"),
    Echo: rpc("ECHO", { text: string() }, "ECHO_OK", { text: string() }),
    Slow: rpc("SLOW", undefined, "SLOW_OK", undefined),
  };
}

/** How a scripted server answers ECHO. */
export const ECHOING: Script = { answers: { ECHO: { type: "ECHO_OK" } } };

/** A remote-controlled scripted server. */
export class Server {
  readonly port: number;
  readonly url: string;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, port: number) {
    this.#runtime = runtime;
    this.port = port;
    this.url = `ws://127.0.0.1:${port}/`;
  }

  async received(): Promise<Received> {
    return (await this.#runtime.command({ do: "received", port: this.port })) as Received;
  }

  /** Resolves to the frames of this type once there are this many. */
  async frames(type: string, count = 0): Promise<Received["frames"]> {
    return await until(async () => {
      const frames = (await this.received()).frames.filter((frame) => frame.type === type);
      return frames.length >= count ? frames : undefined;
    }, `${count} frames of type ${type}`);
  }

  /** Resolves to the connections once there are this many. */
  async connections(count = 0): Promise<Received["connections"]> {
    return await until(async () => {
      const { connections } = await this.received();
      return connections.length >= count ? connections : undefined;
    }, `${count} connections`);
  }

  async deliver(type: string, payload?: unknown, meta: object = {}): Promise<void> {
    await this.#runtime.command({ do: "deliver", port: this.port, nth: -1, type, payload, meta });
  }

  async raw(frame: string): Promise<void> {
    await this.#runtime.command({ do: "raw", port: this.port, nth: -1, frame });
  }

  async binary(): Promise<void> {
    await this.#runtime.command({ do: "binary", port: this.port, nth: -1 });
  }

  async close(code: number, reason = ""): Promise<void> {
    await this.#runtime.command({ do: "close", port: this.port, nth: -1, code, reason });
  }

  async terminate(): Promise<void> {
    await this.#runtime.command({ do: "terminate", port: this.port, nth: -1 });
  }

  async stop(): Promise<void> {
    await this.#runtime.command({ do: "stop", port: this.port });
  }
}

export class Kit {
  readonly library: Library;
  readonly schemas: ReturnType<typeof schemasOf>;
  readonly #runtime: Runtime;
  readonly #cleanups: (() => Promise<unknown>)[] = [];

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.library = runtime.library;
    this.schemas = schemasOf(runtime.library);
  }

  async serve(script: Script = {}): Promise<Server> {
    const server = new Server(
      this.#runtime,
      (await this.#runtime.command({ do: "start", script })) as number,
    );
    this.#cleanups.push(() => server.stop().catch(() => undefined));
    return server;
  }

  /** A client that reconnects within milliseconds by default. */
  client(options: ClientOptions): WsClient {
    const { wsFactory } = this.#runtime;
    const client = wsClient({
      reconnect: { initialDelayMs: 5, maxDelayMs: 40, jitter: "none" },
      ...(wsFactory && { wsFactory }),
      ...options,
    });
    client.onError(() => undefined);
    this.#cleanups.push(() => client.close());
    return client;
  }

  /** A client whose environment the test controls. `loud`: without an `onError` callback it prints errors. */
  imagined(
    options: Omit<ClientOptions, "url"> = {},
    noise: "silent" | "loud" = "silent",
  ): { client: WsClient; world: FakeWorld } {
    const world = new FakeWorld();
    const client = createClient({ url: "ws://server/", ...options }, world);
    if (noise === "silent") client.onError(() => undefined);
    return { client, world };
  }

  async cleanUp(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

// --- assertions ---

const DEADLINE_MS = 10_000;

export async function until<T>(
  check: () => T | undefined | Promise<T | undefined>,
  what: string,
): Promise<T & {}> {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false && value !== null) return value;
    if (performance.now() > end) throw new Error(`It took too long: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

export function equal(actual: unknown, expected: unknown, what = "value"): void {
  const [a, b] = [show(actual), show(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}

export function ok(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`Not so: ${what}`);
}

/** The `WsError` that a promise rejects with. Any other result fails. */
export async function failure(promise: Promise<unknown>): Promise<WsError> {
  const outcome = await Promise.race([
    promise.then(
      (value) => new Error(`It resolved to ${show(value)}.`),
      (error: unknown) => error,
    ),
    new Promise((resolve) => setTimeout(resolve, DEADLINE_MS, new Error("It never settled."))),
  ]);
  if (WsError.isWsError(outcome)) return outcome;
  throw outcome;
}

/** The `WsError` that a call throws. */
export function thrownBy(call: () => unknown): WsError {
  try {
    call();
  } catch (error) {
    if (WsError.isWsError(error)) return error;
    throw error;
  }
  throw new Error("It did not throw.");
}

/** Lets pending promise callbacks run, and those that they cause. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Records the states that `onState` reports. */
export function statesOf(client: WsClient): ClientState[] {
  const states: ClientState[] = [];
  client.onState((state) => states.push(state));
  return states;
}

/** Records the context and code of each error that `onError` reports. */
export function errorsOf(client: WsClient): [ClientErrorContext["type"], string][] {
  const errors: [ClientErrorContext["type"], string][] = [];
  client.onError((error, { type }) => errors.push([type, error.code]));
  return errors;
}

function show(value: unknown): string {
  return (
    JSON.stringify(value, (_key, part: unknown) => {
      if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? String(value)
  );
}
