import { launchChromium } from "@halyard/services";
import { build } from "esbuild";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { useCall, useConnectionState, useMessage, useRequest, WireProvider } from "../../src/client/react.ts";
import { message, rpc, z } from "../../src/zod.ts";
import { FakeWorld } from "./fake-world.ts";
import { ScriptedServer } from "./scripted-server.ts";

const Note = message("NOTE", { text: z.string() });
const Echo = rpc("ECHO", { text: z.string() }, "ECHO_OK", { text: z.string() });

const Ask = rpc("ASK", undefined, "ASK_OK", undefined, { progress: z.string(), durable: { keepMs: 1_000 } });

/** A component with every hook. */
function Hooks() {
  useMessage(Note, () => undefined);
  const { status } = useRequest(Echo);
  const call = useCall(Ask, { id: "kept" });
  return createElement("p", null, `${useConnectionState()} ${status} ${call.status}`);
}

describe("React rendering on a server", () => {
  test("shows a closed client and an idle request, and opens no connection", () => {
    const world = new FakeWorld();
    const client = createClient({ url: "ws://server/", autoConnect: true }, world);
    const html = renderToString(createElement(WireProvider, { client }, createElement(Hooks)));
    expect(html).toBe("<p>closed idle idle</p>");
    expect([world.sockets.length, world.timers.length]).toEqual([0, 0]);
  });

  test("accepts a client with a relative URL although there is no page", () => {
    const client = createClient({ url: "/ws" });
    expect(renderToString(createElement(WireProvider, { client }, createElement(Hooks)))).toContain("closed");
  });

  test("throws an error that names the missing provider", () => {
    expect(() => renderToString(createElement(Hooks))).toThrow("<WireProvider client={…}>");
  });
});

describe("React in a browser, under StrictMode", () => {
  type Browser = Awaited<ReturnType<typeof launchChromium>>;
  type Page = Awaited<ReturnType<Browser["newPage"]>>;
  let browser: Browser;
  let script: string;
  let page: Page;
  let server: ScriptedServer;

  beforeAll(async () => {
    const bundle = await build({
      entryPoints: [new URL("../fixtures/react-page.tsx", import.meta.url).pathname],
      bundle: true,
      conditions: ["@halyard/source"],
      write: false,
      format: "iife",
      target: "es2022",
      jsx: "automatic",
      define: { "process.env.NODE_ENV": '"development"' },
    });
    script = bundle.outputFiles[0]?.text ?? "";
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  const complaints: string[] = [];
  const warnings: string[] = [];
  beforeEach(async () => {
    complaints.length = 0;
    warnings.length = 0;
    server = await ScriptedServer.start({ answers: { ECHO: { progress: [{ percent: 50 }] } } });
    page = await browser.newPage();
    page.on("console", (entry) => {
      if (entry.type() === "error") complaints.push(entry.text());
      if (entry.type() === "warning") warnings.push(entry.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.addScriptTag({ content: script });
    await page.evaluate(`start("ws://127.0.0.1:${server.port}/")`);
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
    expect(complaints).toEqual([]);
  });

  const reads = (id: string, text: string): Promise<void> =>
    vi.waitFor(async () => expect(await page.textContent(`#${id}`)).toBe(text), {
      timeout: 10_000,
      interval: 10,
    });
  const framesOf = (type: string) => server.received.frames.filter((frame) => frame.type === type);
  /** Answers the last request once the page shows the earlier state. */
  const answer = (): void => {
    const { payload, meta } = framesOf("ECHO").at(-1) ?? {};
    server.deliver(0, "ECHO_OK", payload, { timestamp: Date.now(), correlationId: meta?.["correlationId"] });
  };

  test("connects once in the provider, and useConnectionState follows a lost connection", async () => {
    await reads("state", "open");
    expect(server.received.connections).toHaveLength(1);
    server.terminate(0);
    await vi.waitFor(() => expect(server.received.connections).toHaveLength(2), 10_000);
    await reads("state", "open");
    complaints.length = 0;
  });

  test("shows the close code and the reason in useConnection, and calls the handler of useGap after a reconnection", async () => {
    await reads("loss", "open");
    server.close(0, 1012, "deploying");
    await vi.waitFor(() => expect(server.received.connections).toHaveLength(2), 10_000);
    await reads("loss", "open   reconnect");
    server.close(1, 4403, "banned");
    await reads("loss", "closed 4403 banned reconnect");
    complaints.length = 0;
  });

  test("calls the latest handler of useMessage once per message and stops when unmounted", async () => {
    await reads("state", "open");
    server.deliver(0, "NOTE", { text: "a" });
    await reads("notes", "a");
    server.deliver(0, "NOTE", { text: "b" });
    await reads("notes", "a,b");
    await page.evaluate('show("nothing")');
    await vi.waitFor(async () => expect(await page.$("#notes")).toBeNull(), 10_000);
    server.deliver(0, "NOTE", { text: "c" });
    server.deliver(0, "$ws:sync", { id: "c has arrived" });
    await vi.waitFor(() => expect(framesOf("$ws:synced")).toHaveLength(1), 10_000);
    await page.evaluate('show("all")');
    await reads("notes", "");
  });

  test("shows pending, progress and the response in useRequest", async () => {
    await reads("state", "open");
    await reads("request", "idle   ");
    await page.click("#ask");
    await reads("request", 'pending   {"percent":50}');
    answer();
    await reads("request", 'success asked  {"percent":50}');
    expect(framesOf("ECHO")).toHaveLength(1);
  });

  test("shows the error in useRequest, and cancel cancels the request", async () => {
    await reads("state", "open");
    await page.click("#ask");
    await reads("request", 'pending   {"percent":50}');
    await page.click("#cancel");
    await reads("request", 'error  CANCELLED {"percent":50}');
    await vi.waitFor(() => expect(framesOf("$ws:abort")).toHaveLength(1), 10_000);
  });

  test("finishes a request when its component is unmounted, also under StrictMode's double mount", async () => {
    await reads("state", "open");
    await page.evaluate('show("mount")');
    await vi.waitFor(() => expect(framesOf("ECHO")).toHaveLength(2), 10_000);
    await reads("request", 'pending   {"percent":50}');
    answer();
    await reads("request", 'success mount  {"percent":50}');
    await page.click("#ask");
    await vi.waitFor(() => expect(framesOf("ECHO")).toHaveLength(3), 10_000);
    await page.evaluate('show("nothing")');
    await vi.waitFor(async () => expect(await page.$("#request")).toBeNull(), 10_000);
    server.deliver(0, "$ws:sync", { id: "unmounted" });
    await vi.waitFor(() => expect(framesOf("$ws:synced")).toHaveLength(1), 10_000);
    expect(framesOf("$ws:abort")).toEqual([]);
    answer();
  });

  test("cancels a request with cancelOnUnmount when its component is unmounted, and says so in development", async () => {
    await reads("state", "open");
    await page.evaluate('show("search")');
    await reads("request", "idle   ");
    await page.click("#ask");
    await reads("request", 'pending   {"percent":50}');
    await page.evaluate('show("nothing")');
    await vi.waitFor(() => expect(framesOf("$ws:abort")).toHaveLength(1), 10_000);
    await vi.waitFor(() => expect(warnings).toHaveLength(1), 10_000);
    expect(warnings[0]).toMatch(/^\[halyard\] ECHO was cancelled, because its component unmounted\./);
  });

  test("warns once in development when a component creates the client while it renders", async () => {
    await reads("state", "open");
    await page.evaluate('show("unstable")');
    await reads("unstable", "4");
    await vi.waitFor(() => expect(warnings.join()).toContain("creates the client while it renders"), 10_000);
    expect(warnings.filter((text) => text.includes("while it renders"))).toHaveLength(1);
    await page.evaluate('show("all")');
    complaints.length = 0;
  });

  test("gives a component that listens later the messages from before, in order", async () => {
    await reads("state", "open");
    await page.evaluate('show("late")');
    await vi.waitFor(() => expect(framesOf("$ws:join")).toHaveLength(2), 10_000);
    for (const { meta } of framesOf("$ws:join"))
      server.deliver(0, "$ws:joined", { topic: "late" }, { correlationId: meta["correlationId"] });
    for (const text of ["1", "2", "3"]) server.deliver(0, "SAID", { text }, { $t: "late" });
    await reads("late", "joined");
    await page.evaluate('show("late on")');
    await reads("lines", "1 2 3");
    server.deliver(0, "SAID", { text: "4" }, { $t: "late" });
    await reads("lines", "1 2 3 4");
  });

  test("joins nothing in useChannel without parameters, joins once it gets them, and leaves when they are gone", async () => {
    await reads("state", "open");
    await page.evaluate('show("room")');
    await reads("chat", "idle");
    expect(framesOf("$ws:join")).toEqual([]);
    for (const times of [1, 2]) {
      await page.evaluate('show("room a")');
      await reads("chat", "joining");
      await vi.waitFor(() => expect(framesOf("$ws:join")).toHaveLength(times), 10_000);
      const { meta } = framesOf("$ws:join").at(-1) ?? {};
      server.deliver(0, "$ws:joined", { topic: "a" }, { correlationId: meta?.["correlationId"] });
      await reads("chat", "joined");
      await page.evaluate('show("room")');
      await reads("chat", "idle");
      await vi.waitFor(() => expect(framesOf("$ws:leave")).toHaveLength(times), 10_000);
    }
  });

  test("joins a channel while useChannel is mounted, and another one for other parameters", async () => {
    await reads("state", "open");
    const joinsOf = (id: string) =>
      framesOf("$ws:join").filter(({ payload }) => (payload as { params: { id: string } }).params.id === id);
    const joined = (id: string): void => {
      for (const { meta } of joinsOf(id))
        server.deliver(0, "$ws:joined", { topic: id }, { correlationId: meta["correlationId"] });
    };
    await page.evaluate('show("room a")');
    // StrictMode mounts twice.
    await vi.waitFor(() => expect(joinsOf("a")).toHaveLength(2), 10_000);
    await reads("chat", "joining");
    joined("a");
    await reads("chat", "joined");
    server.deliver(0, "SAID", { text: "one" }, { $t: "a" });
    server.deliver(0, "SAID", { text: "elsewhere" }, { $t: "b" });
    await reads("chat", "joined one");
    await page.evaluate('show("room b")');
    await reads("chat", "joining one");
    await vi.waitFor(() => expect(joinsOf("b")).toHaveLength(1), 10_000);
    joined("b");
    await reads("chat", "joined one");
    server.deliver(0, "SAID", { text: "two" }, { $t: "b" });
    await reads("chat", "joined one two");
    await page.evaluate('show("all")');
    await vi.waitFor(() => expect(framesOf("$ws:leave")).toHaveLength(2), 10_000);
  });

  test("reads the call of useCall while mounted, another one for another id, and none without an id", async () => {
    await reads("state", "open");
    const asksOf = (id: string) =>
      framesOf("COUNT").filter(({ meta }) => (meta["$k"] as { id: string }).id === id);
    const send = (id: string, type: string, payload: unknown): void => {
      for (const { meta } of asksOf(id))
        server.deliver(0, type, payload, { correlationId: meta["correlationId"] });
    };
    await page.evaluate('show("call x")');
    // StrictMode mounts twice, and the rehearsed reader detaches.
    await vi.waitFor(() => expect(asksOf("x")).toHaveLength(2), 10_000);
    await vi.waitFor(() => expect(framesOf("$ws:abort")).toHaveLength(1), 10_000);
    expect(asksOf("x").map(({ meta }) => meta["$k"])).toEqual(Array(2).fill({ id: "x", after: 0 }));
    send("x", "$ws:rpc-progress", 1);
    send("x", "$ws:rpc-progress", 2);
    await reads("call", "pending 1,2");
    await page.evaluate('show("call y")');
    await reads("call", "pending");
    await vi.waitFor(() => expect(asksOf("y")).toHaveLength(1), 10_000);
    send("x", "$ws:rpc-progress", 3);
    send("y", "$ws:rpc-progress", 7);
    send("y", "COUNTED", { sum: 7 });
    await reads("call", "success 7 7");
    await page.evaluate('show("call")');
    await reads("call", "idle");
    await page.click("#start");
    await vi.waitFor(() => expect(framesOf("COUNT")).toHaveLength(4), 10_000);
    await reads("call", "pending");
    await page.click("#stop");
    const stopped = (): boolean => framesOf("COUNT").some(({ meta }) => "cancel" in (meta["$k"] as object));
    await vi.waitFor(() => expect(stopped()).toBe(true), 10_000);
    const aborted = framesOf("$ws:abort").length;
    await page.evaluate('show("all")');
    await vi.waitFor(() => expect(framesOf("$ws:abort").length).toBe(aborted + 1), 10_000);
    complaints.length = 0;
  });

  test("keeps the connection when a provider moves and closes it when the provider is unmounted", async () => {
    await reads("state", "open");
    await page.evaluate('show("moved")');
    await reads("state", "open");
    expect(server.received.connections).toHaveLength(1);
    await page.evaluate('show("gone")');
    await vi.waitFor(() => expect(server.received.closes).toMatchObject([{ code: 1000 }]), 10_000);
  });
});
