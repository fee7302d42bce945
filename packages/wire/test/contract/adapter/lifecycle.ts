/** The life of a connection: the order of hooks, close codes, and the expiry of a login. */
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../fixtures/app.ts";
import { PATIENCE_MS } from "../../fixtures/patience.ts";
import { CANARY } from "../../fixtures/scenarios.ts";
import { connect, greeted, HALYARD } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function lifecycleTests(suite: Suite): void {
  const open = suite.serving("open");
  describe("the end of a connection", () => {
    const url = () => open().url;
    const closeEntry = async (clientId: string): Promise<LogEntry | undefined> =>
      (await readLog(url(), clientId)).find(({ what }) => what === "router close");

    test("reports a peer's code and reason to onClose", async () => {
      const peer = await greeted(url());
      await peer.close(4321, "enough");
      await expect
        .poll(() => closeEntry(peer.clientId), POLL)
        .toMatchObject({ code: 4321, reason: "enough" });
    });

    test("is reported with 1006 when a peer disappears", async () => {
      const peer = await greeted(url());
      peer.terminate();
      await expect.poll(() => closeEntry(peer.clientId), POLL).toMatchObject({ code: 1006 });
    });

    test.each([
      { code: 4000, reason: "bye" },
      { code: 1000, reason: "" },
      { code: 1011, reason: "é".repeat(100) },
    ])("has the same code on both sides after ctx.ws.close($code)", async ({ code, reason }) => {
      const peer = await greeted(url());
      peer.send("CLOSE_ME", { code, reason });
      const closed = await peer.closed;
      expect(closed.code).toBe(code);
      expect(reason.startsWith(closed.reason)).toBe(true);
      await expect.poll(() => closeEntry(peer.clientId), POLL).toMatchObject({ code, reason: closed.reason });
    });

    test("has code 1000 after ctx.ws.close() without a code", async () => {
      const peer = await greeted(url());
      peer.send("CLOSE_ME", {});
      expect(await peer.closed).toEqual({ code: 1000, reason: "" });
    });

    test("does not happen when the code is not allowed: close throws and the connection stays open", async () => {
      const peer = await greeted(url());
      peer.send("CLOSE_ME", { code: 1006 }, { correlationId: "1" });
      expect(await peer.next("$ws:error")).toMatchObject({ payload: { code: "INTERNAL" } });
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });

    test("is reported to onClose once with the server's code, also when the peer closes at the same time", async () => {
      const peer = await greeted(url());
      peer.send("CLOSE_ME", { code: 4002 });
      await peer.close(4001);
      await expect.poll(() => closeEntry(peer.clientId), POLL).toMatchObject({ code: 4002 });
      const closings = (await readLog(url(), peer.clientId)).filter(({ what }) => what === "router close");
      expect(closings).toHaveLength(1);
    });
  });

  if (suite.can.backpressure)
    test("is reported within a second with the server's code when the peer does not answer the close frame", async () => {
      const { url } = open();
      const peer = await greeted(url);
      peer.send("CLOSE_ME", { code: 4003 });
      peer.pause();
      const startedAt = performance.now();
      await expect
        .poll(
          async () => (await readLog(url, peer.clientId)).find(({ what }) => what === "router close"),
          POLL,
        )
        .toMatchObject({ code: 4003 });
      expect(performance.now() - startedAt).toBeLessThan(1_000 + PATIENCE_MS);
    });

  if (suite.can.serveOptions)
    describe("the hooks of serve", () => {
      const server = suite.serving("guarded");
      const live = (token: string) => `${server().url}/live?access_token=${token}`;
      const logOf = (clientId: string) => readLog(live("user-log"), clientId);

      test("run in order: onUpgrade, the adapter's onOpen, the router's onOpen, the router's onClose, the adapter's onClose", async () => {
        const { host } = new URL(server().url);
        const peer = await greeted(live("user-ada"), {
          headers: { cookie: "theme=dark", origin: `http://${host}` },
        });
        await peer.close(4100, "done");
        const { clientId } = peer;
        await expect
          .poll(() => logOf(clientId), POLL)
          .toEqual([
            {
              what: "upgrade",
              clientId,
              isRequest: true,
              method: "GET",
              path: "/live",
              cookie: "theme=dark",
            },
            { what: "adapter open", clientId, userId: "ada" },
            { what: "router open", clientId },
            { what: "router close", clientId, code: 4100, reason: "done" },
            { what: "adapter close", clientId, code: 4100, reason: "done" },
          ]);
      });

      test("include onBroadcast once per publish, for any number of subscribers", async () => {
        const peers = await Promise.all(["a", "b", "c"].map((name) => greeted(live(`user-${name}`))));
        const topic = `news-${peers[0]?.clientId}`;
        for (const peer of peers) await peer.request("JOIN", { topic });
        await peers[0]?.request("SHOUT", { topic, text: "hi" });
        const broadcasts = (await readLog(live("user-log"))).filter((entry) => entry["topic"] === topic);
        expect(broadcasts).toEqual([
          { what: "broadcast", topic, type: "DELIVERED", payload: { topic, text: "hi" } },
        ]);
      });
    });

  if (suite.can.admission)
    describe.concurrent("a login", () => {
      const server = suite.serving("guarded");
      const live = (token: string) => `${server().url}/live?access_token=${token}`;

      test("ends with 4401 when it expires, as hello announced", async ({ expect }) => {
        const startedAt = Date.now();
        const peer = await connect(live("expires-1000"), { protocols: [HALYARD] });
        const { payload } = await peer.next("$ws:hello");
        const { expiresAt } = payload as { expiresAt: number };
        expect(expiresAt - startedAt).toBeGreaterThanOrEqual(1_000);
        expect(await peer.closed).toMatchObject({ code: 4401 });
        expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
        expect(Date.now() - expiresAt).toBeLessThan(1_000 + PATIENCE_MS);
      });

      test("continues when $ws:auth brings a valid token", async ({ expect }) => {
        const peer = await greeted(live("expires-3000"));
        peer.send("$ws:auth", { token: "expires-60000" });
        const { payload } = await peer.next("$ws:auth");
        const { expiresAt } = payload as { expiresAt: number };
        expect(expiresAt).toBeGreaterThan(Date.now() + 50_000);
        expect((await peer.request("WHO_AM_I")).payload).toMatchObject({
          data: { userId: "renewed", expiresAt, clientId: peer.clientId },
        });
        // Past the first expiry.
        await peer.request("PAUSE", { ms: 3_100 });
        expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
      });

      test("does not expire when the new token has no expiry", async ({ expect }) => {
        const peer = await greeted(live("expires-3000"));
        peer.send("$ws:auth", { token: "forever" });
        expect((await peer.next("$ws:auth")).payload).toEqual({});
        await peer.request("PAUSE", { ms: 3_100 });
        expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
      });

      test.for(["bad", "throws"])(
        "ends with 4401 when the new token is refused (%s)",
        async (token, { expect }) => {
          const peer = await greeted(live("user-ada"));
          peer.send("$ws:auth", { token });
          const closed = await peer.closed;
          expect(closed.code).toBe(4401);
          expect(closed.reason).not.toContain(CANARY);
        },
      );

      test("that expires never or in months is served without a warning", async ({ expect }) => {
        for (const token of ["never", "distant"]) {
          const peer = await greeted(live(token));
          expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
        }
        expect(server().process?.output() ?? "").not.toContain("TimeoutOverflowWarning");
      });

      test("whose expiry is not a number ends immediately", async ({ expect }) => {
        const peer = await connect(live("broken"), { protocols: [HALYARD] });
        expect(await peer.closed).toMatchObject({ code: 4401 });
      });

      test("cannot be renewed where the server accepts no tokens", async ({ expect }) => {
        const peer = await greeted(open().url);
        peer.send("$ws:auth", { token: "x" });
        expect(await peer.next("$ws:error")).toMatchObject({ payload: { code: "UNIMPLEMENTED" } });
      });
    });
}
