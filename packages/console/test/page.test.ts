/** Checks the page and its files: what they may load, how they are cached, and that no path leads elsewhere. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { betterAuth } from "better-auth";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Host } from "../../flags/test/host.ts";
import { suiteHost } from "../../flags/test/memory-host.ts";
import { createConsole } from "../src/index.ts";
import { createConsoleFrom } from "../src/server/create-console.ts";
import { BASE, type ConsoleHost, loadApp, mountConsole } from "./console-host.ts";

let host: Host;
let console_: ConsoleHost;
suiteHost({}, (started) => {
  host = started;
  console_ = mountConsole(host);
});

const policyOf = (response: Response) =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ");
      return [name, sources];
    }),
  );

test("the page allows its own files only, no inline script, and no frame around it", async () => {
  const response = await console_.get(BASE);
  const policy = policyOf(response);
  expect(response.status).toBe(200);
  expect(policy.get("default-src")).toEqual(["'none'"]);
  expect(policy.get("script-src")).toEqual(["'self'"]);
  expect(policy.get("connect-src")).toEqual(["'self'"]);
  expect(policy.get("frame-ancestors")).toEqual(["'none'"]);
  expect(policy.get("base-uri")).toEqual(["'self'"]);
  expect(response.headers.get("x-frame-options")).toBe("DENY");
  const sources = [...policy.values()].flat();
  expect(sources.filter((source) => !/^(?:'self'|'none'|'nonce-[\w+/=]+'|data:)$/.test(source))).toEqual([]);
});

test("each page has a nonce of its own for styles, which only the page and its policy name", async () => {
  const pages = await Promise.all([console_.get(BASE), console_.get(`${BASE}/flags/checkout`)]);
  const nonces = await Promise.all(
    pages.map(async (page) => {
      const [, nonce = ""] = /'nonce-([^']+)'/.exec(page.headers.get("content-security-policy") ?? "") ?? [];
      expect(await page.text()).toContain(`content="${nonce}"`);
      expect(page.headers.get("cache-control")).toBe("no-store");
      return nonce;
    }),
  );
  expect(new Set(nonces).size).toBe(2);
  expect(nonces.every((nonce) => nonce.length >= 22)).toBe(true);
});

test("the page works at any path, because it names its base path", async () => {
  const made = createConsoleFrom(loadApp, host.auth, { basePath: "/a/b-c/d_e" });
  const page = await made.fetch(new Request(`${host.origin}/a/b-c/d_e/flags`));
  expect(await page.text()).toContain('<base href="/a/b-c/d_e/" />');
});

test("files with a hash in their name are cached for a year, others are revalidated", async () => {
  const script = await console_.get(`${BASE}/assets/app-1a2b3c.js`);
  expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(script.headers.get("x-content-type-options")).toBe("nosniff");
  const icon = await console_.get(`${BASE}/favicon.svg`);
  expect(icon.headers.get("cache-control")).toBe("no-cache");
  const etag = icon.headers.get("etag") ?? "";
  const again = await console_.get(`${BASE}/favicon.svg`, { headers: { "if-none-match": etag } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const head = await console_.get(`${BASE}/assets/app-1a2b3c.js`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test.each([
  "/../package.json",
  "/../../package.json",
  "/assets/../../console-host.ts",
  "/%2e%2e/console-host.ts",
  "/..%2f..%2fconsole-host.ts",
  "/assets/..%5c..%5cconsole-host.ts",
  "/assets/%00app-1a2b3c.js",
  "//etc/passwd",
  "/assets//etc/passwd",
  "/index.html/../../console-host.ts",
  "/file:///etc/passwd",
])("the path %s leads to no file outside the application", async (path) => {
  const response = await console_.get(BASE + path);
  const text = await response.text();
  expect([200, 404]).toContain(response.status);
  expect(text).not.toMatch(/mountConsole|"name"|root:/);
  if (response.status === 200) expect(text).toContain("<base href");
});

test("a missing file is 404 and not the page; a view of the application is the page", async () => {
  for (const path of ["/assets/app-old.js", "/missing.css"]) {
    expect((await console_.get(BASE + path)).status, path).toBe(404);
  }
  for (const path of ["/", "/flags", "/people/ada@example.com", "/flags/a.b"]) {
    const response = await console_.get(BASE + path);
    expect([response.status, response.headers.get("content-type")], path).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
  }
});

test("other paths are 404, and other methods are 405", async () => {
  expect((await console_.get("/ops/flagsandmore")).status).toBe(404);
  expect((await console_.get("/")).status).toBe(404);
  expect((await console_.get(BASE, { method: "POST" })).status).toBe(405);
});

test("without the built application the page is 503 and says what to do, and the API works", async () => {
  const missing = pathToFileURL(join(import.meta.dirname, "no-such-build/content.js")).href;
  const made = createConsoleFrom(() => import(missing), host.auth, { basePath: BASE });
  const page = await made.fetch(new Request(host.origin + BASE));
  expect([page.status, (await page.json()).code]).toEqual([503, "APP_NOT_BUILT"]);
  const headers = { "x-halyard-console": "1", origin: host.origin };
  const api = await made.fetch(
    new Request(`${host.origin}${BASE}/api/feature-flags/admin/flags`, { headers }),
  );
  expect(api.status).toBe(401);
});

test("an application that fails to load is 500, its error is logged, and the next request loads it again", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  const failure = new SyntaxError("Unexpected token");
  const load = vi.fn(loadApp).mockRejectedValueOnce(failure);
  const made = createConsoleFrom(load, host.auth, { basePath: BASE });
  const page = await made.fetch(new Request(host.origin + BASE));
  expect([page.status, (await page.json()).code]).toEqual([500, "APP_NOT_LOADED"]);
  expect(log.mock.calls).toEqual([
    ["[halyard-console] The files of the application could not be loaded.", failure],
  ]);
  expect((await made.fetch(new Request(host.origin + BASE))).status).toBe(200);
});

test.each([
  [{ basePath: "" }, "basePath"],
  [{ basePath: "/" }, "basePath"],
  [{ basePath: "/flags/" }, "basePath"],
  [{ basePath: '/"><script>' }, "basePath"],
  [{ basePath: "/a/../b" }, "basePath"],
  [{ basePath: "/flags", signInUrl: "javascript:alert(1)" }, "signInUrl"],
  [{ basePath: "/flags", live: "https://elsewhere.example/live" }, "live"],
  [{ basePath: "/flags", colour: "red" }, 'no option "colour"'],
])("createConsole refuses the options %j", (options, name) => {
  expect(() => createConsole(host.auth, options)).toThrow(name);
});

test("createConsole refuses an auth instance without feature flags", () => {
  expect(() => createConsole(betterAuth({}), { basePath: "/flags" })).toThrow("no featureFlags plugin");
});

test("the Node handler serves the same page, and answers what is no request with 400", async () => {
  const server = createServer((request, response) => void console_.made.node(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const page = await fetch(`http://127.0.0.1:${port}${BASE}`);
  expect([page.status, policyOf(page).get("frame-ancestors")]).toEqual([200, ["'none'"]]);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"));
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    socket.on("close", () => resolve(text)).on("error", reject);
  });
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
});
