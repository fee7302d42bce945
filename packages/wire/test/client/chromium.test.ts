import { freePort, launchChromium, spawnProgram } from "@halyard/services";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ClientOptions } from "../../src/client/options.ts";
import { PATIENCE_MS } from "../fixtures/patience.ts";
import { libraries } from "../spec/libraries.ts";
import { startConductor } from "./conductor.ts";
import type { runSuite } from "./remote.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { startStallingProxy } from "./stalling-proxy.ts";
import { suite } from "./suite/index.ts";

/** The globals that `fixtures/client-page.ts` defines in the page. */
interface Page {
  readonly runSuite: typeof runSuite;
  readonly states: { readonly state: string; readonly at: number }[];
  connect(options: ClientOptions): void;
}

type Browser = Awaited<ReturnType<typeof launchChromium>>;

const HEARTBEAT_SERVER = new URL("../fixtures/heartbeat-server.ts", import.meta.url).pathname;
/** Heartbeat interval and timeout of that server. */
const SILENCE_MS = 2_500;

let browser: Browser;
let script: string;

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [new URL("../fixtures/client-page.ts", import.meta.url).pathname],
    bundle: true,
    conditions: ["@halyard/source"],
    write: false,
    format: "iife",
    target: "es2022",
  });
  script = outputFiles[0]?.text ?? "";
  browser = await launchChromium();
});
afterAll(() => browser?.close());

async function openPage() {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addScriptTag({ content: script });
  return {
    context,
    page,
    connect: (options: ClientOptions) =>
      page.evaluate((given) => (globalThis as unknown as Page).connect(given), options),
    states: () => page.evaluate(() => (globalThis as unknown as Page).states),
    /** Resolves once the client has been in these states, in this order. Returns when each began. */
    async reached(expected: readonly string[]): Promise<number[]> {
      const states = await vi.waitFor(
        async () => {
          const seen = await page.evaluate(() => (globalThis as unknown as Page).states);
          expect(seen.map(({ state }) => state)).toEqual(expected);
          return seen;
        },
        { timeout: 10_000, interval: 20 },
      );
      return states.map(({ at }) => at);
    },
    now: () => page.evaluate(() => performance.now()),
  };
}

test("the client passes its suite in Chromium, with Zod and with Valibot", async () => {
  const conductor = await startConductor();
  const { page, context } = await openPage();
  try {
    const { ran, failures } = await page.evaluate(
      (url) => (globalThis as unknown as Page).runSuite(url),
      conductor.url,
    );
    expect(failures).toEqual({});
    expect(ran).toBe(suite.length * libraries.length);
  } finally {
    await context.close();
    await conductor.stop();
  }
}, 120_000);

describe("the client in Chromium", () => {
  test("leaves a half-open connection within interval, timeout and a second", async () => {
    const server = await spawnProgram({
      command: process.execPath,
      args: ["--conditions=@halyard/source", HEARTBEAT_SERVER],
    });
    const proxy = await startStallingProxy(server.port);
    const { connect, reached, now, context } = await openPage();
    try {
      await connect({ url: `ws://127.0.0.1:${proxy.port}/` });
      await reached(["connecting", "open"]);
      const stalledAt = await now();
      proxy.stall();
      const [, , lostAt = 0] = await reached(["connecting", "open", "reconnecting"]);
      expect(lostAt - stalledAt).toBeLessThan(SILENCE_MS + 1_000 + PATIENCE_MS);
    } finally {
      await context.close();
      await proxy.stop();
      await server.stop();
    }
  });

  test("leaves a suspended server within interval, timeout and a second", async () => {
    const server = await spawnProgram({
      command: process.execPath,
      args: ["--conditions=@halyard/source", HEARTBEAT_SERVER],
    });
    const { connect, reached, now, context } = await openPage();
    try {
      await connect({ url: `ws://127.0.0.1:${server.port}/` });
      await reached(["connecting", "open"]);
      const stoppedAt = await now();
      server.pause();
      const [, , lostAt = 0] = await reached(["connecting", "open", "reconnecting"]);
      expect(lostAt - stoppedAt).toBeLessThan(SILENCE_MS + 1_000 + PATIENCE_MS);
    } finally {
      server.resume();
      await context.close();
      await server.stop();
    }
  });

  test.each(["online", "visibilitychange"])(
    "reconnects immediately on %s during a long wait",
    async (event) => {
      const port = await freePort();
      const { page, connect, reached, now, context } = await openPage();
      await connect({
        url: `ws://127.0.0.1:${port}/`,
        reconnect: { initialDelayMs: 60_000, maxDelayMs: 60_000, jitter: "none" },
      });
      await reached(["connecting", "reconnecting"]);
      const server = await ScriptedServer.start({ port });
      try {
        const wokenAt = await now();
        if (event === "online") {
          await context.setOffline(true);
          await context.setOffline(false);
        } else await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
        const [, , openAt = 0] = await reached(["connecting", "reconnecting", "open"]);
        expect(openAt - wokenAt).toBeLessThan(2_000 + PATIENCE_MS);
      } finally {
        await context.close();
        await server.stop();
      }
    },
  );

  test("closes after one attempt when its token is refused", async () => {
    const server = await ScriptedServer.start({ refuse: { code: 4401, reason: "not authenticated" } });
    const { connect, reached, context } = await openPage();
    try {
      await connect({ url: `ws://127.0.0.1:${server.port}/?access_token=bad` });
      await reached(["connecting", "closed", "UNAUTHENTICATED"]);
      expect(server.received.connections).toHaveLength(1);
    } finally {
      await context.close();
      await server.stop();
    }
  });

  test("waits for the delay that an overloaded server sends", async () => {
    const server = await ScriptedServer.start({
      refuse: { code: 1013, reason: "retryAfterMs=700", times: 1 },
    });
    const { connect, reached, context } = await openPage();
    try {
      await connect({
        url: `ws://127.0.0.1:${server.port}/`,
        reconnect: { initialDelayMs: 1, jitter: "none" },
      });
      await reached(["connecting", "reconnecting", "open"]);
      const [first, second] = server.received.connections.map(({ at }) => at);
      expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(695);
    } finally {
      await context.close();
      await server.stop();
    }
  });
});
