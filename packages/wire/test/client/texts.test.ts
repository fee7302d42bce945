/** The client's messages in a bundle: sentences in development, a few words in production or without a bundler. */
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { FakeWorld } from "./fake-world.ts";

const ENTRY = new URL("../../src/client/index.ts", import.meta.url).pathname;

const WRONG_URL = `wire.wsClient({ url: "localhost:3000" }).connect().catch((error) => error.message)`;

/** Bundles the client, runs the program with it where there is no `process`, and returns what it evaluates to. */
async function messageIn(
  define: Record<string, string>,
  program: string = WRONG_URL,
): Promise<{ bundle: string; message: string }> {
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    conditions: ["@halyard/source"],
    write: false,
    minifySyntax: true,
    format: "iife",
    globalName: "wire",
    platform: "neutral",
    target: "es2022",
    define,
  });
  const bundle = outputFiles[0]?.text ?? "";
  const message = await runInNewContext(`${bundle};${program}`, { URL, console: { warn: () => undefined } });
  return { bundle, message };
}

describe("the messages of the client", () => {
  test("are sentences with a remedy in a development bundle", async () => {
    const { message } = await messageIn({ "process.env.NODE_ENV": '"development"' });
    expect(message).toBe(
      'The url "localhost:3000" is not valid. Begin it with ws://, wss://, http:// or https://; a relative url works only in a page.',
    );
  });

  test("are a few words in a production bundle, which does not contain the sentences", async () => {
    const { bundle, message } = await messageIn({ "process.env.NODE_ENV": '"production"' });
    expect(message).toBe("url localhost:3000");
    expect(bundle).not.toMatch(/Begin it with|Check host|allowedOrigins|waits in the queue/);
  });

  test("are a few words in a page without a bundler, which has no process", async () => {
    const { message } = await messageIn({});
    expect(message).toBe("url localhost:3000");
  });

  test("are printed at most 20 times per connection when a server sends different errors", () => {
    const lines: unknown[] = [];
    const { warn } = console;
    console.warn = (line: unknown) => lines.push(line);
    try {
      const world = new FakeWorld();
      void createClient({ url: "ws://server/" }, world).connect();
      world.socket.greet();
      for (let i = 0; i < 1_000; i++)
        world.socket.deliver("$ws:error", { code: "INTERNAL", message: `${i}` });
    } finally {
      console.warn = warn;
    }
    expect(lines).toHaveLength(20);
  });
});

describe("an option that wsClient() does not have", () => {
  const create = (options: string): string =>
    `(() => { try { wire.wsClient(${options}); return "accepted"; } catch (error) { return error.message; } })()`;

  test.for([
    ['{ url: "/ws", reconect: {} }', 'wsClient() has no option "reconect". Did you mean "reconnect"?'],
    [
      '{ url: "/ws", reconnect: { maxDelay: 1 } }',
      'wsClient() has no option "reconnect.maxDelay". Did you mean "reconnect.maxDelayMs"?',
    ],
    [
      '{ url: "/ws", auth: { getTokn: () => null } }',
      'wsClient() has no option "auth.getTokn". Did you mean "auth.getToken"?',
    ],
  ] as const)("is refused in a development bundle: %s", async ([options, expected]) => {
    const { message } = await messageIn({ "process.env.NODE_ENV": '"development"' }, create(options));
    expect(message).toBe(expected);
  });

  test("is ignored in a production bundle, which does not contain the check", async () => {
    const { bundle, message } = await messageIn(
      { "process.env.NODE_ENV": '"production"' },
      create('{ url: "/ws", reconect: {} }'),
    );
    expect(message).toBe("accepted");
    expect(bundle).not.toMatch(/Did you mean|has no option|initialDelayMs: true/);
  });
});
