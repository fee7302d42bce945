/** Who may connect: path, Origin, and the application's `authenticate`. */
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

    test("accepts upgrades on every path when none is configured", async () => {
      const peer = await greeted(`${open().url}/anywhere/at/all?x=1`);
      expect(await peer.request("GREET", { name: "Ada" })).toMatchObject({ type: "GREETING" });
    });
  });

  describe("Origin", () => {
    const guarded = suite.serving("guarded");
    const chosen = suite.serving("chosen-origins");
    const any = suite.serving("any-origin");

    /** Both kinds of peer, and what became of them. */
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

    test("the server's own host is allowed, whatever the scheme before a proxy", async () => {
      expect(await verdictOn(url(), { origin: ownOrigin() })).toEqual(admitted);
      expect(await verdictOn(url(), { origin: ownOrigin().replace("http:", "https:") })).toEqual(admitted);
    });

    test("another port of the same host is another origin", async () => {
      expect(await verdictOn(url(), { origin: "http://127.0.0.1:1" })).toEqual(refused);
    });

    test("exactly the listed origins are allowed besides", async () => {
      expect(await verdictOn(url(), { origin: "https://app.example" })).toEqual(admitted);
      for (const origin of [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.test",
        "null",
      ])
        expect(await verdictOn(url(), { origin })).toEqual(refused);
    });

    test("a program without Origin is allowed, unless it carries cookies", async () => {
      expect(await verdictOn(url(), {})).toEqual(admitted);
      expect(await verdictOn(url(), { cookie: "session=1" })).toEqual(refused);
      expect(await verdictOn(url(), { cookie: "session=1", origin: ownOrigin() })).toEqual(admitted);
    });

    test("the Origin is checked before anything is authenticated", async () => {
      const headers = { origin: "https://evil.test" };
      const before = (await readLog(url())).length;
      expect(await verdictOn(`${guarded().url}/live?access_token=throws`, headers)).toEqual(refused);
      const fresh = (await readLog(url())).slice(before);
      expect(fresh.filter((entry) => entry["what"] === "outside")).toEqual([]);
    });

    test("a function decides with the request at hand", async () => {
      const { url: chosenUrl } = chosen();
      const origin = "https://shop.trusted.example";
      expect(await verdictOn(chosenUrl, { origin, "x-tenant": "a" })).toEqual(admitted);
      expect(await verdictOn(chosenUrl, { origin, "x-tenant": "b" })).toEqual(refused);
      expect(await verdictOn(chosenUrl, { origin: "https://evil.test", "x-tenant": "a" })).toEqual(refused);
    });

    test("a function that throws refuses, and its error reaches the adapter's onError", async () => {
      expect(await verdictOn(chosen().url, { origin: "https://throws.example" })).toEqual(refused);
      const log = await readLog(chosen().url);
      expect(log.filter((entry) => entry["what"] === "outside")).toMatchObject([
        { message: "no opinion" },
        { message: "no opinion" },
      ]);
    });

    test('"*" allows every origin, with and without cookies', async () => {
      expect(await verdictOn(any().url, { origin: "https://evil.test", cookie: "a=1" })).toEqual(admitted);
      expect(await verdictOn(any().url, { cookie: "a=1" })).toEqual(admitted);
    });
  });

  describe("authenticate", () => {
    const server = suite.serving("guarded");
    const own = suite.serving("own-token");
    const live = (token?: string) =>
      `${server().url}/live${token === undefined ? "" : `?access_token=${token}`}`;
    const dataOf = async (url: string, options?: PeerOptions) =>
      (await (await greeted(url, options)).request("WHO_AM_I")).payload as { data: Record<string, unknown> };

    test("its fields become the connection's data; an id among them is ignored", async () => {
      const peer = await greeted(live("user-ada"));
      const { payload } = await peer.request("WHO_AM_I");
      expect(payload).toEqual({
        data: { userId: "ada", clientId: peer.clientId },
        context: { region: "north" },
      });
    });

    test("an empty object admits an anonymous caller", async () => {
      expect(await dataOf(live("anonymous"))).toMatchObject({ data: { clientId: expect.any(String) } });
    });

    test("the token comes from the offered protocols before the query", async () => {
      const { data } = await dataOf(live("user-query"), { protocols: ["bearer.user-header", HALYARD] });
      expect(data["userId"]).toBe("header");
    });

    test("prefix and query parameter of the token are options", async () => {
      const { url } = own();
      expect((await dataOf(`${url}?ticket=t1`)).data["userId"]).toBe("t1");
      expect((await dataOf(url, { protocols: [HALYARD, "key.t2"] })).data["userId"]).toBe("t2");
      const refused = await connect(`${url}?access_token=t3`, { protocols: [HALYARD, "bearer.t4"] });
      expect(await refused.closed).toMatchObject({ code: 4401 });
    });

    test.each(["nobody", "throws", "rejects", undefined])(
      "a caller that is refused (token %s) learns no more than that",
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

    test("what it throws reaches the adapter's onError and no connection hook", async () => {
      const before = (await readLog(live("user-log"))).length;
      await (await connect(live("throws"), { protocols: [HALYARD] })).closed;
      const fresh = (await readLog(live("user-log"))).slice(before);
      expect(fresh.filter((entry) => entry["what"] === "outside")).toEqual([
        { what: "outside", code: "UNAUTHENTICATED", message: `${CANARY} thrown` },
      ]);
      const openings = fresh.filter((entry) => entry["what"] === "router open");
      // The two readers of the log, and nobody else.
      expect(openings.length).toBeLessThanOrEqual(2);
      expect(server().process?.output() ?? "").not.toContain(CANARY);
    });

    test("a token is in no frame, close reason, header or line of output, whatever becomes of it", async () => {
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

    test("a frame that is sent before the refusal reaches no handler", async () => {
      const peer = await connect(live("nobody"), { protocols: [HALYARD] });
      peer.send("GREET", { name: "Eve" }, { correlationId: "1" });
      await peer.closed;
      expect(peer.frames).toEqual([]);
    });
  });

  describe("upgrades that wait for authenticate", () => {
    const server = suite.serving("crowded");

    test("are refused with 503 beyond the bound, and served again once there is room", async () => {
      const { url } = server();
      const keeper = await greeted(`${url}?access_token=go`);
      const patient = connect(url);
      const hasty = new Peer(url);
      const entries = async () =>
        ((await keeper.request("LOG", {})).payload as { entries: { what: string }[] }).entries;
      await expect
        .poll(async () => (await entries()).filter(({ what }) => what === "waiting").length, POLL)
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
