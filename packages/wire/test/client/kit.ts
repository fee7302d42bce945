/** What a case of the client's suite works with, in every runtime: a validator, servers to talk to, clients, checks. */
import { createClient, wsClient } from "../../src/client/client.ts";
import type { ClientErrorContext } from "../../src/client/failures.ts";
import type { ClientState } from "../../src/client/link.ts";
import type { ClientOptions } from "../../src/client/options.ts";
import type { WsClient } from "../../src/client/ws-client.ts";
import { WsError } from "../../src/protocol/error.ts";
import type { Library } from "../spec/libraries.ts";
import { FakeWorld } from "./fake-world.ts";
import type { Command, Heard, Script } from "./script.ts";

export interface Runtime {
  readonly library: Library;
  /** Makes the client's sockets; undefined: the platform's own. */
  readonly wsFactory: ClientOptions["wsFactory"] | undefined;
  command(command: Command): Promise<unknown>;
}

/** One promise of the client: a sentence, and what shows that it is kept. */
export interface Case {
  readonly name: string;
  readonly run: (kit: Kit) => Promise<void>;
}

/** The schemas most cases speak with. */
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

/** A scripted server, driven from afar. */
export class Server {
  readonly port: number;
  readonly url: string;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, port: number) {
    this.#runtime = runtime;
    this.port = port;
    this.url = `ws://127.0.0.1:${port}/`;
  }

  async heard(): Promise<Heard> {
    return (await this.#runtime.command({ do: "heard", port: this.port })) as Heard;
  }

  /** The frames of this type so far, once there are so many. */
  async frames(type: string, count = 0): Promise<Heard["frames"]> {
    return await until(async () => {
      const frames = (await this.heard()).frames.filter((frame) => frame.type === type);
      return frames.length >= count ? frames : undefined;
    }, `${count} frames of type ${type}`);
  }

  /** The connections so far, once there are so many. */
  async connections(count = 0): Promise<Heard["connections"]> {
    return await until(async () => {
      const { connections } = await this.heard();
      return connections.length >= count ? connections : undefined;
    }, `${count} connections`);
  }

  async say(type: string, payload?: unknown, meta: object = {}): Promise<void> {
    await this.#runtime.command({ do: "say", port: this.port, nth: -1, type, payload, meta });
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

  /** A client that comes back within milliseconds, unless told otherwise. */
  client(options: ClientOptions): WsClient {
    const { wsFactory } = this.#runtime;
    const client = wsClient({
      reconnect: { initialDelayMs: 5, maxDelayMs: 40, jitter: "none" },
      ...(wsFactory && { wsFactory }),
      ...options,
    });
    this.#cleanups.push(() => client.close());
    return client;
  }

  /** A client for which the test is the world. */
  imagined(options: Omit<ClientOptions, "url"> = {}): { client: WsClient; world: FakeWorld } {
    const world = new FakeWorld();
    return { client: createClient({ url: "ws://server/", ...options }, world), world };
  }

  async cleanUp(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

// --- checks ---

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

/** The `WsError` a promise rejects with; anything else fails. */
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

/** The `WsError` a call throws. */
export function thrownBy(call: () => unknown): WsError {
  try {
    call();
  } catch (error) {
    if (WsError.isWsError(error)) return error;
    throw error;
  }
  throw new Error("It did not throw.");
}

/** Lets promise callbacks run, and those they cause. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Records what `onState` says. */
export function statesOf(client: WsClient): ClientState[] {
  const states: ClientState[] = [];
  client.onState((state) => states.push(state));
  return states;
}

/** Records what `onError` says: context and code. */
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
