/** Our server runs the conformance cases of the protocol. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { type RawData, WebSocket } from "ws";
import type { ServerHandle } from "../src/adapters/node.ts";
import { serve } from "../src/adapters/node.ts";
import { createApplication } from "./fixtures/conformance/application.ts";
import { Memory, matches, readCases, type Step } from "./fixtures/conformance/cases.ts";

const TIMEOUT_MS = 10_000;

/** A peer that reads one frame after the other. */
class Peer {
  readonly #socket: WebSocket;
  readonly #frames: unknown[] = [];
  #waiting: ((frame: unknown) => void) | undefined;
  readonly closed: Promise<number>;

  constructor(port: number) {
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}`, ["halyard.v1.json"]);
    this.#socket.on("message", (data: RawData) => {
      const frame: unknown = JSON.parse(String(data));
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting === undefined) this.#frames.push(frame);
      else waiting(frame);
    });
    this.#socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.#socket.on("close", (code) => resolve(code)));
  }

  async open(): Promise<this> {
    await once(this.#socket, "open");
    expect(await this.next()).toMatchObject({ type: "$ws:hello", payload: { v: 1 } });
    return this;
  }

  send(data: string | Buffer): void {
    this.#socket.send(data);
  }

  next(): Promise<unknown> {
    if (this.#frames.length > 0) return Promise.resolve(this.#frames.shift());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("No frame came.")), TIMEOUT_MS);
      this.#waiting = (frame) => {
        clearTimeout(timer);
        resolve(frame);
      };
    });
  }

  close(): void {
    this.#socket.terminate();
  }
}

let server: ServerHandle | undefined;
let peer: Peer | undefined;
afterEach(async () => {
  peer?.close();
  await server?.stop();
});

async function run(steps: readonly Step[]): Promise<void> {
  server = await serve(createApplication(), { port: 0, host: "127.0.0.1", handleSignals: false });
  const { port } = server;
  const memory = new Memory();
  let current = await new Peer(port).open();
  peer = current;
  const expectNext = async (patterns: readonly unknown[]): Promise<unknown> => {
    const frame = await current.next();
    const isExpected = patterns.some((pattern) => matches(frame, pattern));
    if (!isExpected) expect(frame).toMatchObject(patterns[0] as object);
    expect(isExpected).toBe(true);
    return frame;
  };
  for (const step of steps) {
    const [action, first, second] = memory.fill(step) as Step;
    if (action === "send") current.send(JSON.stringify(first));
    else if (action === "raw") current.send(String(first));
    else if (action === "binary") current.send(Buffer.from(String(first)));
    else if (action === "nested") current.send(nested(Number(first)));
    else if (action === "large") current.send(`"${"x".repeat(Number(first) - 2)}"`);
    else if (action === "get") memory.remember(step[2], await expectNext([first]));
    else if (action === "getOne") await expectNext(first as unknown[]);
    else if (action === "getEach") for (let i = 0; i < Number(second); i++) await expectNext([first]);
    else if (action === "closed") expect(await current.closed).toBe(first);
    else if (action === "reconnect") {
      current.close();
      current = await new Peer(port).open();
      peer = current;
    } else throw new Error(`Unknown step ${action}.`);
  }
}

/** The frame itself is level 1, and its payload level 2. */
function nested(levels: number): string {
  const value = `${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}`;
  return `{"type":"KEEP","meta":{"correlationId":"1"},"payload":{"value":${value}}}`;
}

describe("our server", () => {
  const cases = readCases("server.json");
  test("has cases", () => expect(cases.length).toBeGreaterThan(200));
  test.each(cases)("$name", ({ steps }) => run(steps));
});
