/** Checks that the listener of `@halyard/flags/node` answers every request, whatever arrives on the connection. */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { toNodeHandler } from "@halyard/flags/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { flag, memoryHost } from "./memory-host.ts";
import { type WrappedHost, wrapHost } from "./wrapped-host.ts";

const JSON_BODY = 'Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"flagKey":"k"}';
const EVALUATE = "/api/auth/feature-flags/evaluate";

/** The lines that replace a valid request line and `Host`, by what is wrong with them. */
const MALFORMED: Readonly<
  Record<string, { target?: string; method?: string; host?: string; more?: string }>
> = {
  "an absolute target": { target: `http://evil.example${EVALUATE}` },
  "an absolute target of another scheme": { target: "ftp://evil.example/" },
  "the target *": { method: "OPTIONS", target: "*" },
  "the method TRACE": { method: "TRACE" },
  "a host with a space": { host: "a b" },
  "a host that is a bracket": { host: "[" },
  "a host with a user": { host: "user@localhost" },
  "a host with a path": { host: "localhost/elsewhere" },
  "a host with a query": { host: "localhost?" },
  "a host with a port that does not exist": { host: "localhost:99999" },
  "a host that is an impossible address": { host: "999.999.999.999" },
  "an empty host": { host: "" },
  "a forwarded protocol with a space": { more: "X-Forwarded-Proto: x y\r\n" },
  "a list of forwarded protocols": { more: "X-Forwarded-Proto: https,http\r\n" },
  "an unknown forwarded protocol": { more: "X-Forwarded-Proto: ftp\r\n" },
};

test.each(Object.entries(MALFORMED))("a request with %s gets 400 on both paths", async (_what, parts) => {
  const { send } = await listen();
  for (const path of [EVALUATE, "/api/auth/ok"]) {
    const { method = "POST", target = path, host = "localhost", more = "" } = parts;
    const answer = await send(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}${JSON_BODY}`);
    expect([answer.status, answer.json["code"]]).toEqual([400, "VALIDATION_ERROR"]);
  }
  expect((await send(`POST ${EVALUATE} HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}`)).status).toBe(200);
});

test.each(["localhost", "127.0.0.1:3000", "[::1]:3000", "app.example.com", "under_score.example"])(
  "the host %s is valid",
  async (host) => {
    const { send } = await listen();
    const { status } = await send(`POST ${EVALUATE} HTTP/1.1\r\nHost: ${host}\r\n${JSON_BODY}`);
    expect(status).toBe(200);
  },
);

test("a request of HTTP/1.0 without a host is answered", async () => {
  const { send } = await listen();
  expect((await send("GET /api/auth/feature-flags/ready HTTP/1.0\r\n\r\n")).status).toBe(200);
});

test("an error of the auth instance is logged and answered with 500, and the server answers on", async () => {
  const logged: string[] = [];
  const { send } = await listen({
    log: (message) => logged.push(message),
    plugins: [
      {
        id: "broken",
        onRequest: async (request) => {
          if (request.headers.has("x-break")) throw new Error("secret of the host");
        },
      },
    ],
  });
  const answer = await send("GET /api/auth/ok HTTP/1.1\r\nHost: localhost\r\nX-Break: 1\r\n\r\n");
  expect([answer.status, answer.json["code"]]).toEqual([500, "STORAGE_ERROR"]);
  expect(answer.text).not.toContain("secret");
  await expect.poll(() => logged).toContainEqual(expect.stringContaining("could not be answered"));
  expect((await send("GET /api/auth/ok HTTP/1.1\r\nHost: localhost\r\n\r\n")).status).toBe(200);
});

test.each([
  ["an evaluation", "evaluate", { flagKey: "k" }],
  ["an event", "events", { flagKey: "k", event: "bought" }],
])("%s on the fast path is answered without building Headers", async (_what, path, body) => {
  const { port } = await listen();
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/api/auth/feature-flags/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  // The first one waits for the flags.
  expect((await ask()).status).toBe(200);
  const built = vi.spyOn(globalThis, "Headers");
  onTestFinished(() => built.mockRestore());
  expect((await ask()).status).toBe(200);
  expect(built).not.toHaveBeenCalled();
});

async function listen(options: Parameters<typeof wrapHost>[1] = {}) {
  const host = await memoryHost();
  await host.auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "on" }) });
  const wrapped: WrappedHost = await wrapHost(host, options);
  const handle = toNodeHandler(wrapped.auth);
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, send: (text: string) => sendRaw(port, text) };
}

/** Sends the bytes of one request, and reads its response. */
async function sendRaw(port: number, request: string) {
  const socket = connect(port, "127.0.0.1");
  socket.end(request);
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const plain = /transfer-encoding: chunked/i.test(head) ? body.replace(/^[0-9a-f]+\r\n|\r\n.*$/g, "") : body;
  const json: Record<string, unknown> = plain.startsWith("{") ? JSON.parse(plain) : {};
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), text, json };
}
