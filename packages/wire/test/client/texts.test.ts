/** The client's messages in a bundle: sentences in development, a few words in production or without a bundler. */
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { FakeWorld } from "./fake-world.ts";

const ENTRY = new URL("../../src/client/index.ts", import.meta.url).pathname;

/** Bundles the client, runs the bundle where there is no `process`, and returns the message for a url that is not valid. */
async function messageIn(define: Record<string, string>): Promise<{ bundle: string; message: string }> {
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    minifySyntax: true,
    format: "iife",
    globalName: "wire",
    platform: "neutral",
    target: "es2022",
    define,
  });
  const bundle = outputFiles[0]?.text ?? "";
  const program = `${bundle};wire.wsClient({ url: "localhost:3000" }).connect().catch((error) => error.message)`;
  const message = await runInNewContext(program, { URL, console: { warn: () => undefined } });
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
