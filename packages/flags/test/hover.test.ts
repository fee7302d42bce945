/** Checks what an editor shows for the methods that applications use most, with TypeScript's own language server. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const FIXTURE = fileURLToPath(new URL("fixtures/hovered-methods.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SERVER = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));
/** What a tooltip of an editor shows without scrolling. */
const SCREEN = { lines: 40, columns: 120 };

const text = readFileSync(FIXTURE, "utf8");
const METHODS = [...text.matchAll(/api\.(\w+)\(/g)].map(([, name = ""]) => name);

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly params?: unknown;
}

/** A client of the language server protocol, over the standard streams of a process. */
class LanguageServer {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, (result: unknown) => void>();
  #received = Buffer.alloc(0);
  #nextId = 1;

  constructor(command: string) {
    this.#process = spawn(command, ["--lsp", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
    this.#process.stdout?.on("data", (chunk: Buffer) => this.#receive(chunk));
  }

  request(method: string, params: object): Promise<unknown> {
    const id = this.#nextId++;
    this.#send({ id, method, params });
    return new Promise((resolve) => this.#pending.set(id, resolve));
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  close(): void {
    this.#process.kill("SIGKILL");
  }

  #send(message: Message): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.#process.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.#received.toString("utf8", 0, end))?.[1]);
      if (this.#received.length < end + 4 + length) return;
      const body = this.#received.toString("utf8", end + 4, end + 4 + length);
      this.#received = this.#received.subarray(end + 4 + length);
      this.#handle(JSON.parse(body) as Message);
    }
  }

  #handle({ id, method, result, params }: Message): void {
    if (id === undefined) return;
    if (method === undefined) {
      this.#pending.get(id)?.(result);
      this.#pending.delete(id);
    } else {
      // The server asks for settings, or registers capabilities.
      const items = (params as { items?: unknown[] } | undefined)?.items;
      this.#send({ id, result: items === undefined ? null : items.map(() => null) });
    }
  }
}

let server: LanguageServer;
beforeAll(async () => {
  server = new LanguageServer(SERVER);
  const rootUri = pathToFileURL(ROOT).href;
  await server.request("initialize", {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "root" }],
    capabilities: { textDocument: { hover: { contentFormat: ["markdown"] } } },
  });
  server.notify("initialized", {});
  const document = { uri: pathToFileURL(FIXTURE).href, languageId: "typescript", version: 1, text };
  server.notify("textDocument/didOpen", { textDocument: document });
}, 60_000);
afterAll(() => server.close());

async function hover(method: string): Promise<string> {
  const before = text.slice(0, text.indexOf(`api.${method}(`) + "api.".length);
  const line = before.split("\n").length - 1;
  const character = before.length - before.lastIndexOf("\n") - 1;
  const textDocument = { uri: pathToFileURL(FIXTURE).href };
  const answer = await server.request("textDocument/hover", { textDocument, position: { line, character } });
  const { contents } = answer as { contents: { value: string } };
  return contents.value;
}

test("the fixture calls ten methods", () => {
  expect(METHODS).toHaveLength(10);
});

test.each(METHODS)(
  "the tooltip of %s fits one screen",
  async (method) => {
    const shown = await hover(method);
    expect(shown).toContain(`${method}: `);
    const lines = shown.split("\n").map(({ length }) => Math.max(1, Math.ceil(length / SCREEN.columns)));
    expect(
      lines.reduce((sum, count) => sum + count, 0),
      shown,
    ).toBeLessThanOrEqual(SCREEN.lines);
  },
  120_000,
);
