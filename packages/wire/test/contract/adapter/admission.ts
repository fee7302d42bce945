/** Admission: path, Origin, and the application's `authenticate`. */
import { describe, expect, test } from "vitest";
import { CANARY } from "../../fixtures/scenarios.ts";
import { connect, greeted, HALYARD, handshake, Peer, type PeerOptions } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function admissionTests(suite: Suite): void {
  const open = suite.serving("open");
  describe("path", () => {
    const server = suite.serving("guarded");

    test.each(["/", "/live/", "/LIVE", "/live2", "/a/live"])(
      "answers an upgrade on %s with 404",
      async (path) => {
        for (const protocol of [HALYARD, "chat.v1"]) {
          const answer = await handshake(`${server().url}${path}?access_token=user-ada`, {
            "sec-websocket-protocol": protocol,
          });
          expect(answer.status).toBe(404);
        }
      },
    );

    test("logs a wrong path with the server's own, once per minute and without the query", async () => {
      const { url, process } = server();
      for (const path of ["/wrong", "/wrong/too"])
        expect((await handshake(`${url}${path}?access_token=${CANARY}`)).status).toBe(404);
      if (process === undefined) return;
      const lines = () =>
        process
          .output()
          .split("\n")
          .filter((line) => line.includes("(404)"));
      await expect.poll(lines, POLL).toHaveLength(1);
      expect(lines()[0]).toMatch(/its path is "\/\S*", but the option path of this server is "\/live"/);
      expect(process.output()).not.toContain(CANARY);
    });

    test("accepts upgrades on every path when none is configured", async () => {
      const peer = await greeted(`${open().url}/anywhere/at/all?x=1`);
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });
  });

  describe("Origin", () => {
    const guarded = suite.serving("guarded");
    const chosen = suite.serving("chosen-origins");
    const any = suite.serving("any-origin");

    /** The results for a halyard peer and for a plain peer. */
    async function verdictOn(url: string, headers: Record<string, string>) {
      const plain = await handshake(url, headers);
      const peer = await connect(url, { protocols: [HALYARD], headers });
      const first = await Promise.race([peer.next("$ws:hello"), peer.closed]);
      return { status: plain.status, ...("code" in first ? { code: first.code } : {}) };
    }
    const admitted = { status: 101 };
    const refused = { status: 403, code: 4403 };
    const url = () => `${guarded().url}/live?access_token=user-ada`;
    const ownOrigin = () => `http://${new URL(guarded().url).host}`;

    test("of the server's own host is allowed with either scheme", async () => {
      expect(await verdictOn(url(), { origin: ownOrigin() })).toEqual(admitted);
      expect(await verdictOn(url(), { origin: ownOrigin().replace("http:", "https:") })).toEqual(admitted);
    });

    test("with the server's own host but a scheme that is not HTTP is refused", async () => {
      for (const scheme of ["foo:", "file:", "chrome-extension:"])
        expect(await verdictOn(url(), { origin: ownOrigin().replace("http:", scheme) })).toEqual(refused);
    });

    test("of an unencrypted page is refused when a proxy received the upgrade encrypted", async () => {
      const headers = { "x-forwarded-proto": "https", origin: ownOrigin() };
      expect(await verdictOn(url(), headers)).toEqual(refused);
      headers.origin = headers.origin.replace("http:", "https:");
      expect(await verdictOn(url(), headers)).toEqual(admitted);
    });

    test("of another port of this machine is allowed in development, unless a proxy forwarded the request", async () => {
      for (const origin of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"]) {
        expect(await verdictOn(url(), { origin, cookie: "session=1" })).toEqual(admitted);
        expect(await verdictOn(url(), { origin, "x-forwarded-for": "203.0.113.9" })).toEqual(refused);
      }
      for (const origin of ["http://127.0.0.2:1", "http://localhost.evil.test:1"])
        expect(await verdictOn(url(), { origin })).toEqual(refused);
    });

    test("is also allowed when it is listed exactly", async () => {
      expect(await verdictOn(url(), { origin: "https://app.example" })).toEqual(admitted);
      for (const origin of [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.test",
        "null",
      ])
        expect(await verdictOn(url(), { origin })).toEqual(refused);
    });

    test("may be absent unless the request carries cookies", async () => {
      expect(await verdictOn(url(), {})).toEqual(admitted);
      expect(await verdictOn(url(), { cookie: "session=1" })).toEqual(refused);
      expect(await verdictOn(url(), { cookie: "session=1", origin: ownOrigin() })).toEqual(admitted);
    });

    test("is checked before authenticate runs", async () => {
      const headers = { origin: "https://evil.test" };
      const before = (await readLog(url())).length;
      expect(await verdictOn(`${guarded().url}/live?access_token=throws`, headers)).toEqual(refused);
      const fresh = (await readLog(url())).slice(before);
      expect(fresh.filter((entry) => entry["what"] === "outside")).toEqual([]);
    });

    test("can be checked by a function that receives the request", async () => {
      const { url: chosenUrl } = chosen();
      const origin = "https://shop.trusted.example";
      expect(await verdictOn(chosenUrl, { origin, "x-tenant": "a" })).toEqual(admitted);
      expect(await verdictOn(chosenUrl, { origin, "x-tenant": "b" })).toEqual(refused);
      expect(await verdictOn(chosenUrl, { origin: "https://evil.test", "x-tenant": "a" })).toEqual(refused);
    });

    test("is refused when that function throws, and the adapter's onError receives the error", async () => {
      expect(await verdictOn(chosen().url, { origin: "https://throws.example" })).toEqual(refused);
      const log = await readLog(chosen().url);
      expect(log.filter((entry) => entry["what"] === "outside")).toMatchObject([
        { message: "no opinion" },
        { message: "no opinion" },
      ]);
    });

    test('may be any with "*", with and without cookies', async () => {
      expect(await verdictOn(any().url, { origin: "https://evil.test", cookie: "a=1" })).toEqual(admitted);
      expect(await verdictOn(any().url, { cookie: "a=1" })).toEqual(admitted);
    });
  });

  describe("Host", () => {
    const strict = suite.serving("strict");

    test("must be in allowedHosts, where a host without a port allows every port", async () => {
      const { url } = strict();
      expect((await handshake(url, { host: "127.0.0.1:1" })).status).toBe(101);
      for (const host of ["evil.test", "127.0.0.1.evil.test", "localhost"])
        expect((await handshake(url, { host, origin: `http://${host}` })).status).toBe(403);
      const peer = await connect(url, { protocols: [HALYARD], headers: { host: "evil.test" } });
      expect(await peer.closed).toEqual({ code: 4403, reason: "this host is not allowed" });
    });

    // The engine of Durable Objects checks the header itself.
    test.runIf(suite.can.transport).each(["u:p@127.0.0.1", "[", "127.0.0.1:99999", "127.0.0.1/live"])(
      "%s is refused with 400, and no token reaches a log",
      async (host) => {
        for (const server of [strict(), open()]) {
          const answer = await handshake(`${server.url}/?access_token=${CANARY}`, { host });
          expect(answer.status).toBe(400);
          expect(server.process?.output() ?? "").not.toContain(CANARY);
        }
        const outside = (await readLog(strict().url)).filter((entry) => entry["what"] === "outside");
        expect(JSON.stringify(outside)).not.toContain(CANARY);
      },
    );
  });

  describe("a refusal", () => {
    const strict = suite.serving("strict");

    test("is visible to a client that also offers a protocol of the application: wire's protocol is selected", async () => {
      const peer = await connect(`${strict().url}/?access_token=refused`, {
        protocols: ["chat.v2", HALYARD],
      });
      expect(peer.protocol).toBe(HALYARD);
      expect(await peer.closed).toEqual({ code: 4401, reason: "not authenticated" });
    });

    test.each([
      { token: "expired", code: 4401, reason: "the session has expired", status: 401 },
      { token: "banned", code: 4403, reason: "this account is suspended", status: 403 },
    ])("has the message of a WsError as its reason ($token)", async ({ token, code, reason, status }) => {
      const url = `${strict().url}/?access_token=${token}`;
      const peer = await connect(url, { protocols: [HALYARD] });
      expect(await peer.closed).toEqual({ code, reason });
      expect((await handshake(url)).status).toBe(status);
    });

    test("is logged once per minute and reason, with what to change", async () => {
      const { url, process } = strict();
      for (let i = 0; i < 3; i++) {
        expect((await handshake(url, { origin: `https://evil.test/${CANARY}` })).status).toBe(403);
        expect((await handshake(`${url}/?access_token=refused`)).status).toBe(401);
      }
      if (process === undefined) return;
      const lines = () => process.output().split("\n");
      const count = (text: string) => lines().filter((line) => line.includes(text)).length;
      await expect.poll(() => count('its origin "https://evil.test/'), POLL).toBe(1);
      await expect.poll(() => count("authenticate returned undefined"), POLL).toBe(1);
      expect(count("add it to the serve option allowedOrigins")).toBe(1);
    });
  });

  describe("authenticate", () => {
    const server = suite.serving("guarded");
    const own = suite.serving("own-token");
    const live = (token?: string) =>
      `${server().url}/live${token === undefined ? "" : `?access_token=${token}`}`;
    const dataOf = async (url: string, options?: PeerOptions) =>
      (await (await greeted(url, options)).request("WHO_AM_I")).payload as { data: Record<string, unknown> };

    test("returns fields that become the connection's data, and an id among them is ignored", async () => {
      const peer = await greeted(live("user-ada"));
      const { payload } = await peer.request("WHO_AM_I");
      expect(payload).toEqual({
        data: { userId: "ada", clientId: peer.clientId },
        context: { region: "north" },
      });
    });

    test("admits an anonymous visitor with an empty object", async () => {
      expect(await dataOf(live("anonymous"))).toMatchObject({ data: { clientId: expect.any(String) } });
    });

    test("receives the token from the offered protocols before the one from the query", async () => {
      const { data } = await dataOf(live("user-query"), { protocols: ["bearer.user-header", HALYARD] });
      expect(data["userId"]).toBe("header");
    });

    test("receives a token with the configured prefix and query parameter", async () => {
      const { url } = own();
      expect((await dataOf(`${url}?ticket=t1`)).data["userId"]).toBe("t1");
      expect((await dataOf(url, { protocols: [HALYARD, "key.t2"] })).data["userId"]).toBe("t2");
      const refused = await connect(`${url}?access_token=t3`, { protocols: [HALYARD, "bearer.t4"] });
      expect(await refused.closed).toMatchObject({ code: 4401 });
    });

    test.each(["unknown", "throws", "rejects", undefined])(
      "refuses a caller (token %s) without further information",
      async (token) => {
        const peer = await connect(live(token), { protocols: [HALYARD] });
        expect(await peer.closed).toEqual({ code: 4401, reason: "not authenticated" });
        expect(peer.frames).toEqual([]);
        expect(peer.headers["x-connection-id"]).toBeUndefined();
        const { status, headers } = await handshake(live(token));
        expect(status).toBe(401);
        expect(JSON.stringify(headers)).not.toContain(CANARY);
      },
    );

    test("reports a thrown error to the adapter's onError and runs no connection hook", async () => {
      const before = (await readLog(live("user-log"))).length;
      await (await connect(live("throws"), { protocols: [HALYARD] })).closed;
      const fresh = (await readLog(live("user-log"))).slice(before);
      expect(fresh.filter((entry) => entry["what"] === "outside")).toEqual([
        { what: "outside", code: "UNAUTHENTICATED", message: `${CANARY} thrown` },
      ]);
      const openings = fresh.filter((entry) => entry["what"] === "router open");
      // The two connections that read the log, and no other.
      expect(openings.length).toBeLessThanOrEqual(2);
      expect(server().process?.output() ?? "").not.toContain(CANARY);
    });

    test("never reveals a token in a frame, close reason, header or line of output", async () => {
      const token = `${CANARY}-token`;
      const seen: unknown[] = [];
      for (const [url, protocols] of [
        [`${live()}?access_token=${token}`, [HALYARD]],
        [live(), [`bearer.${token}`, HALYARD]],
        [`${own().url}?ticket=${token}`, [HALYARD]],
        [own().url, [HALYARD, `key.${token}`]],
      ] as const) {
        const peer = await connect(url, { protocols });
        const end = await Promise.race([peer.closed, peer.next("$ws:hello")]);
        peer.sendRaw("{");
        if ("type" in end) await peer.next("$ws:error");
        seen.push(end, peer.frames, peer.headers);
      }
      expect(JSON.stringify(seen)).not.toContain(token);
      for (const { process } of [server(), own()]) expect(process?.output() ?? "").not.toContain(token);
    });

    test("refuses before a frame that was sent early reaches a handler", async () => {
      const peer = await connect(live("unknown"), { protocols: [HALYARD] });
      peer.send("GREET", { name: "Eve" }, { correlationId: "1" });
      await peer.closed;
      expect(peer.frames).toEqual([]);
    });
  });

  describe("upgrades that wait for authenticate", () => {
    const server = suite.serving("crowded");

    test.runIf(suite.can.departure)("free their place at once when their peers leave", async () => {
      const { url } = server();
      const keeper = await greeted(`${url}?access_token=go`);
      const waiting = async () =>
        ((await keeper.request("LOG", {})).payload as { entries: { what: string }[] }).entries.length;
      const before = await waiting();
      const leaving = [new Peer(url), new Peer(url)];
      await expect.poll(waiting, POLL).toBeGreaterThanOrEqual(before + 2);
      for (const peer of leaving) peer.terminate();
      // Much shorter than `handshakeTimeoutMs`, which would free the places too.
      const statusOf = async () => (await handshake(`${url}?access_token=go`)).status;
      await expect.poll(statusOf, { timeout: 5_000, interval: 20 }).toBe(101);
    });

    test("are refused with 503 beyond the limit and accepted again below it", async () => {
      const { url } = server();
      const keeper = await greeted(`${url}?access_token=go`);
      const entries = async () =>
        ((await keeper.request("LOG", {})).payload as { entries: { what: string }[] }).entries;
      const before = (await entries()).filter(({ what }) => what === "waiting").length;
      const patient = connect(url);
      const hasty = new Peer(url);
      await expect
        .poll(async () => (await entries()).filter(({ what }) => what === "waiting").length - before, POLL)
        .toBe(2);
      for (const headers of [{}, { "sec-websocket-protocol": HALYARD }]) {
        const refused = await handshake(`${url}?access_token=go`, headers);
        expect(refused.status).toBe(503);
        expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
      }
      hasty.terminate();
      keeper.send("RELEASE");
      await patient;
      const next = await Promise.all([handshake(url), handshake(url)]);
      expect(next.map(({ status }) => status)).toEqual([101, 101]);
    });
  });
}
