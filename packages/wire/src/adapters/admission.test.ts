import { describe, expect, test } from "vitest";
import { WsError } from "../protocol/error.ts";
import type { ConnectionData } from "../router/connections/peer.ts";
import { Admission, type AdmissionOptions, overloaded, type Upgrade, type Verdict } from "./admission.ts";

const HALYARD = "halyard.v1.json";

function upgradeOf(url: string, headers: Readonly<Record<string, string>>): Upgrade {
  return {
    url: new URL(url),
    address: "192.0.2.1",
    header: (name) => headers[name] ?? null,
    request: () => new Request(url.replace("ws", "http")),
  };
}

function admission(options: AdmissionOptions): Admission<ConnectionData> {
  return new Admission(options, { error: () => undefined, refused: () => undefined });
}

async function verdictOn(
  headers: Readonly<Record<string, string>>,
  options: AdmissionOptions = {},
  url = "ws://chat.example/",
): Promise<Verdict> {
  const upgrade = upgradeOf(url, { host: "chat.example", ...headers });
  return admission(options).refusePath(upgrade) ?? (await admission(options).judge(upgrade));
}

/** The server is `chat.example`. `https://app.example` and `http://localhost:5173` are in the list. */
const LISTED = ["https://app.example", "http://localhost:5173"];

const SAME_HOST = [
  "http://chat.example",
  "https://chat.example",
  "http://chat.example:80",
  "https://chat.example:443",
  "HTTP://CHAT.EXAMPLE",
  "https://Chat.Example",
];

const FOREIGN = [
  // Other hosts that resemble the server's.
  "http://evil.test",
  "https://evil.test",
  "https://chat.example.evil.test",
  "https://evil-chat.example",
  "https://evilchat.example",
  "https://chat.example-evil.test",
  "https://chat-example",
  "https://chatexample",
  "https://example",
  "https://www.chat.example",
  "https://chat.example.",
  "https://chat.example..",
  "https://.chat.example",
  "https://chat..example",
  "https://sub.app.example",
  "https://app.example.evil.test",
  "https://evilapp.example",
  "https://cһat.example",
  "https://chat.examp1e",
  "https://xn--hat-y4a.example",
  // The server's host in the wrong place.
  "https://evil.test/chat.example",
  "https://evil.test?chat.example",
  "https://evil.test#chat.example",
  "https://chat.example@evil.test",
  "https://chat.example:x@evil.test",
  "https://evil.test/https://chat.example",
  "https://evil.test/?https://app.example",
  "https://evil.test%40chat.example",
  // Other ports.
  "http://chat.example:8080",
  "https://chat.example:8443",
  "http://chat.example:443",
  "https://chat.example:80",
  "http://chat.example:0",
  "http://chat.example:65535",
  // Almost a listed origin: the list is exact.
  "http://app.example",
  "https://app.example:443",
  "https://app.example:8443",
  "https://app.example/",
  "https://app.example/path",
  "HTTPS://APP.EXAMPLE",
  "https://App.Example",
  " https://app.example",
  "https://app.example ",
  "https://app.example,https://evil.test",
  "https://app.example, https://app.example",
  "http://localhost",
  "http://localhost:5174",
  "https://localhost:5173",
  "http://127.0.0.1:5173",
  "http://[::1]:5173",
  // Not origins.
  "",
  " ",
  "null",
  "NULL",
  "undefined",
  "*",
  "chat.example",
  "//chat.example",
  "/",
  "about:blank",
  "about:srcdoc",
  "data:text/html,x",
  "javascript:alert(1)",
  "blob:http://chat.example/5f0c",
  "file://",
  "file:///",
  "http:",
  "http://",
  "https://",
  "http:///",
  "http://:80",
  "http://?",
  "http://#",
  "http://[",
  "http://[::1",
  "http://chat.example:port",
  "http://chat.example:99999",
  "http://chat example",
  "http://chat.example:-80",
  "ws://",
  "🛶",
  "https://🛶.test",
  // Schemes of extensions and apps, which only the list can allow.
  "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
  "moz-extension://5f0c3a1e-0000-4000-8000-000000000000",
  "safari-web-extension://5f0c3a1e",
  "capacitor://localhost",
  "ionic://localhost",
  "app://obsidian.md",
  "vscode-webview://1a2b",
  "resource://chat",
];

/** Generated variants of the allowed names that an attacker could register or construct. */
function* generated(): Generator<string> {
  const names = ["chat.example", "app.example", "localhost:5173"];
  for (const scheme of ["http", "https", "ftp"]) {
    for (const name of names) {
      for (const made of [
        `${name}.evil.test`,
        `evil.test/${name}`,
        `evil.test?${name}`,
        `evil.test#${name}`,
        `${name.split(":")[0]}@evil.test`,
        `evil${name}`,
        `x.${name}`,
        `${name.split(":")[0]}:1`,
        `${name.split(":")[0]}.:81`,
        `${name.split(":")[0]}%2eevil.test`,
        `${name.split(":")[0]}_.test`,
        `${[...name].reverse().join("")}`,
      ]) {
        yield `${scheme}://${made}`;
      }
    }
  }
}

describe("the Origin of an upgrade", () => {
  const options: AdmissionOptions = { allowedOrigins: LISTED };

  test("is tested with at least 200 variants", () => {
    expect(
      SAME_HOST.length + LISTED.length + FOREIGN.length + [...generated()].length,
    ).toBeGreaterThanOrEqual(200);
  });

  test.each(SAME_HOST)("%s is allowed as the server's own host", async (origin) => {
    expect(await verdictOn({ origin })).toMatchObject({ kind: "admit" });
  });

  test.each(LISTED)("%s is allowed only when it is listed", async (origin) => {
    expect(await verdictOn({ origin }, options)).toMatchObject({ kind: "admit" });
    expect(await verdictOn({ origin })).toMatchObject({ kind: "http", status: 403 });
  });

  test.each(FOREIGN)("%s is refused with and without the list", async (origin) => {
    for (const settings of [options, {}]) {
      expect(await verdictOn({ origin }, settings)).toMatchObject({ kind: "http", status: 403 });
      expect(await verdictOn({ origin, "sec-websocket-protocol": HALYARD }, settings)).toMatchObject({
        kind: "close",
        code: 4403,
      });
    }
  });

  test("is refused for every generated lookalike", async () => {
    const admitted: string[] = [];
    for (const origin of generated()) {
      if ((await verdictOn({ origin }, options)).kind === "admit") admitted.push(origin);
    }
    expect(admitted).toEqual([]);
  });

  test.each([
    { host: "chat.example:8443", origin: "https://chat.example:8443", kind: "admit" },
    { host: "chat.example:8443", origin: "https://chat.example", kind: "http" },
    { host: "chat.example:443", origin: "https://chat.example", kind: "admit" },
    { host: "chat.example:80", origin: "http://chat.example", kind: "admit" },
    { host: "CHAT.example", origin: "https://chat.example", kind: "admit" },
    { host: "[::1]:3000", origin: "http://[::1]:3000", kind: "admit" },
    { host: "[0:0:0:0:0:0:0:1]:3000", origin: "http://[::1]:3000", kind: "admit" },
    { host: "[::1]:3000", origin: "http://[::2]:3000", kind: "http" },
    { host: "127.0.0.1:3000", origin: "http://127.0.0.1:3000", kind: "admit" },
    { host: "xn--bcher-kva.example", origin: "https://bücher.example", kind: "admit" },
    { host: "", origin: "http://", kind: "http" },
    { host: "a b", origin: "http://a b", kind: "http" },
  ])("$origin with Host $host gives $kind", async ({ host, origin, kind }) => {
    expect(await verdictOn({ host, origin })).toMatchObject({ kind });
  });

  test("is never the same host without a Host header", async () => {
    const upgrade = upgradeOf("ws://chat.example/", { origin: "http://chat.example" });
    expect(await admission({}).judge(upgrade)).toMatchObject({ kind: "http", status: 403 });
  });

  test("may be absent unless the request carries cookies", async () => {
    expect(await verdictOn({})).toMatchObject({ kind: "admit" });
    expect(await verdictOn({ cookie: "" })).toMatchObject({ kind: "http", status: 403 });
    expect(await verdictOn({ cookie: "a=1" }, { allowedOrigins: "*" })).toMatchObject({ kind: "admit" });
  });

  test("is refused when a function returns anything but true", async () => {
    for (const verdict of [false, undefined, null, 0, 1, "yes", {}, Promise.resolve(true)]) {
      const allowedOrigins = () => verdict as boolean;
      expect(await verdictOn({ origin: "https://evil.test" }, { allowedOrigins })).toMatchObject({
        kind: "http",
        status: 403,
      });
    }
  });
});

describe("an upgrade", () => {
  test("is refused for its path before any other check", async () => {
    const calls: string[] = [];
    const options: AdmissionOptions = {
      path: "/live",
      authenticate: () => {
        calls.push("authenticate");
        return {};
      },
    };
    for (const path of ["/", "/live/", "/live/x", "/Live", "//live", "/live%2f", "/live;a"])
      expect(await verdictOn({}, options, `ws://chat.example${path}`)).toMatchObject({ status: 404 });
    expect(calls).toEqual([]);
    expect(await verdictOn({}, options, "ws://chat.example/live?x=/")).toMatchObject({ kind: "admit" });
  });

  test.each([
    { path: "/nope?access_token=secret", logged: "/nope" },
    { path: "/api/ws/", logged: "/api/ws/" },
    { path: "/api/ws/secret/x", logged: "/api/ws/…" },
    { path: "/sw/secret", logged: "/sw/…" },
    { path: "//secret", logged: "//…" },
  ])(
    "for $path is reported with the path $logged and the server's own, without a token",
    ({ path, logged }) => {
      const lines: unknown[] = [];
      const reports = { error: () => undefined, refused: (...line: unknown[]) => void lines.push(line) };
      new Admission({ path: "/api/ws" }, reports).refusePath(upgradeOf(`ws://chat.example${path}`, {}));
      expect(lines).toEqual([
        [
          "path",
          `An upgrade was refused (404): its path is "${logged}", but the option path of this server is "/api/ws". Connect the client to that path, or change the option.`,
        ],
      ]);
    },
  );

  test.each([
    { offered: undefined, protocol: undefined, greets: false },
    { offered: HALYARD, protocol: HALYARD, greets: true },
    { offered: `chat, ${HALYARD}`, protocol: "chat", greets: true },
    { offered: `${HALYARD}, chat`, protocol: "chat", greets: true },
    { offered: "soap", protocol: undefined, greets: false },
    { offered: " ,, soap ,chat", protocol: "chat", greets: false },
    { offered: `halyard.v2.json, ${HALYARD}`, protocol: HALYARD, greets: true },
    { offered: `bearer.x, ${HALYARD}`, protocol: HALYARD, greets: true },
    { offered: "bearer.own", protocol: undefined, greets: false },
    { offered: "CHAT", protocol: undefined, greets: false },
  ])("that offers $offered is answered with $protocol", async ({ offered, protocol, greets }) => {
    const headers: Record<string, string> =
      offered === undefined ? {} : { "sec-websocket-protocol": offered };
    expect(await verdictOn(headers, { protocols: ["chat", "bearer.own"] })).toEqual({
      kind: "admit",
      data: {},
      protocol,
      greets,
    });
  });

  test.each(["halyard.v2.json", "halyard.v1.msgpack", "halyard.", "halyard.v2.json, chat"])(
    "that offers only %s is refused with 1008",
    async (offered) => {
      expect(await verdictOn({ "sec-websocket-protocol": offered }, { protocols: ["chat"] })).toMatchObject({
        kind: "close",
        code: 1008,
      });
    },
  );

  const tokenOf = async (headers: Record<string, string>, url: string, options: AdmissionOptions = {}) => {
    let seen: string | undefined = "not called";
    await verdictOn(
      headers,
      {
        ...options,
        authenticate: (_, { token }) => {
          seen = token;
          return {};
        },
      },
      url,
    );
    return seen;
  };

  test.each([
    { offered: "", query: "", token: undefined },
    { offered: "", query: "?access_token=q", token: "q" },
    { offered: "", query: "?access_token=", token: "" },
    { offered: "", query: "?access_token=a%20b%2Bc", token: "a b+c" },
    { offered: "", query: "?ACCESS_TOKEN=q", token: undefined },
    { offered: "bearer.p", query: "?access_token=q", token: "p" },
    { offered: "chat, bearer.p.q.r", query: "", token: "p.q.r" },
    { offered: "bearer.first, bearer.second", query: "", token: "first" },
    { offered: "Bearer.p", query: "", token: undefined },
  ])("with protocols '$offered' and query '$query' has the token $token", async (row) => {
    const headers: Record<string, string> =
      row.offered === "" ? {} : { "sec-websocket-protocol": row.offered };
    expect(await tokenOf(headers, `ws://chat.example/${row.query}`)).toBe(row.token);
  });

  test.each([
    { code: "UNAUTHENTICATED", closed: 4401, reason: "token revoked" },
    { code: "PERMISSION_DENIED", closed: 4403, reason: "token revoked" },
    { code: "INTERNAL", closed: 4401, reason: "not authenticated" },
  ])(
    "whose authenticate throws $code, also of another copy of the package, is refused with the reason '$reason'",
    async ({ code, closed, reason }) => {
      const foreign = Object.assign(new Error("token revoked"), { name: "WsError", code });
      for (const error of [foreign, new WsError(code as "INTERNAL", "token revoked")]) {
        const options: AdmissionOptions = { authenticate: () => Promise.reject(error) };
        expect(await verdictOn({ "sec-websocket-protocol": HALYARD }, options)).toMatchObject({
          kind: "close",
          code: closed,
          reason,
        });
      }
    },
  );

  test.each([undefined, null, "user", 7, true, () => ({})])(
    "whose authenticate returns %s is refused",
    async (data) => {
      const options: AdmissionOptions = { authenticate: () => data as never };
      expect(await verdictOn({}, options)).toMatchObject({ kind: "http", status: 401 });
      expect(await verdictOn({ "sec-websocket-protocol": HALYARD }, options)).toMatchObject({
        kind: "close",
        code: 4401,
      });
    },
  );

  test("during a drain receives a time to retry", () => {
    const halyard = upgradeOf("ws://chat.example/", { "sec-websocket-protocol": HALYARD });
    const plain = upgradeOf("ws://chat.example/", {});
    expect(overloaded(halyard, 2_500)).toMatchObject({
      kind: "close",
      code: 1013,
      reason: "retryAfterMs=2500",
    });
    expect(overloaded(plain, 2_500)).toMatchObject({ status: 503, headers: { "retry-after": "3" } });
    for (const verdict of [overloaded(plain, undefined), overloaded(halyard, undefined)])
      expect(verdict).toMatchObject({ kind: "http", status: 503, headers: { "retry-after": "1" } });
  });
});
