/** The webhook sink, from the request that stores an event to a receiver that may fail. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  deliverFeatureFlagEvents,
  type EventSink,
  type FeatureFlagsOptions,
  featureFlags,
  featureFlagsPostgresMigration,
  verifyWebhook,
  type WebhookSinkOptions,
  webhookSink,
} from "@halyard/flags";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freshPostgres } from "./databases.ts";
import { type Host, startHost } from "./host.ts";
import { flag, memoryHost } from "./memory-host.ts";

const SECRET = "a secret of the webhook, long enough";
const CONTEXT = { attempt: 1, deliveryId: "dlv_1" };
const at = "2026-01-02T03:04:05.678Z";
const stored = { id: "e1", flagKey: "k", event: "clicked", at, receivedAt: at, sampleRate: 1 };

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;
const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_request, response) => {
    response.writeHead(status, headers).end();
  };

interface Received {
  readonly headers: Headers;
  readonly body: string;
  readonly path: string;
}

/** A receiver that records requests and then behaves as the test sets it. */
async function startReceiver(behave: Behaviour = answer(204)) {
  const received: Received[] = [];
  const receiver = { behave };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = new Headers(request.headers as Record<string, string>);
      received.push({ headers, body: Buffer.concat(chunks).toString(), path: request.url ?? "" });
      receiver.behave(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { received, receiver, url: `http://127.0.0.1:${port}/flag-events`, port };
}

const send = (
  options: Partial<WebhookSinkOptions> & { url: string },
  deliver = webhookSink({ secret: SECRET, ...options }).deliver,
) => deliver([stored], CONTEXT);

describe("a webhook", () => {
  test("carries the events as JSON, with id, time and a signature that Standard Webhooks would make", async () => {
    const { received, url } = await startReceiver();
    await send({ url, headers: { "x-tenant": "t" } });
    const [{ headers, body } = { headers: new Headers(), body: "" }] = received;
    expect(JSON.parse(body)).toEqual({ type: "feature_flag.events", data: { events: [stored] } });
    expect([headers.get("content-type"), headers.get("x-tenant")]).toEqual(["application/json", "t"]);
    const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
    expect(id).toBe("dlv_1");
    expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(60);
    const hmac = createHmac("sha256", SECRET).update(`${id}.${timestamp}.${body}`).digest("base64");
    expect(headers.get("webhook-signature")).toBe(`v1,${hmac}`);
  });

  test("has its own headers once, even if the host adds headers with the same names", async () => {
    const { received, url } = await startReceiver();
    await send({ url, headers: { "Content-Type": "text/plain", "Webhook-Id": "mine", Authorization: "a" } });
    const [{ headers, body } = { headers: new Headers(), body: "" }] = received;
    expect(["content-type", "webhook-id", "authorization"].map((name) => headers.get(name))).toEqual([
      "application/json",
      "dlv_1",
      "a",
    ]);
    expect(await verifyWebhook({ secret: SECRET, headers, body })).toBeDefined();
  });

  test("accepts a secret in the form of Standard Webhooks, and signs with all given secrets", async () => {
    const { received, url } = await startReceiver();
    const bytes = Buffer.alloc(32, 7);
    const secrets = [`whsec_${bytes.toString("base64")}`, SECRET];
    await send({ url, secret: secrets });
    const [{ headers, body } = { headers: new Headers(), body: "" }] = received;
    const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
    const signatures = [bytes, SECRET].map(
      (key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    );
    expect(headers.get("webhook-signature")).toBe(signatures.join(" "));
    for (const secret of secrets) expect(await verifyWebhook({ secret, headers, body })).toBeDefined();
  });

  test.each([
    ["a failure", answer(500), "500"],
    ["a refusal", answer(404), "404"],
    ["a redirect, which is not followed", answer(307, { location: "/elsewhere" }), "307"],
    ["a connection that breaks", (request: IncomingMessage) => void request.socket.destroy(), "fetch failed"],
  ])("has not arrived after %s", async (_name, behave, message) => {
    const { received, url } = await startReceiver(behave);
    await expect(send({ url })).rejects.toThrow(message);
    expect(received.map(({ path }) => path)).toEqual(["/flag-events"]);
  });

  test("does not wait for a receiver that hangs, and does not read a large response", async () => {
    const hanging = await startReceiver(() => undefined);
    await expect(send({ url: hanging.url, timeoutMs: 50 })).rejects.toThrow(/timeout|aborted/i);
    let sent = 0;
    const endless = await startReceiver((_request, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.on("drain", more);
      more();
    });
    await send({ url: endless.url });
    // What sockets hold in between is a few megabytes at most.
    expect(sent).toBeLessThan(64 * 2 ** 20);
  });

  test.each([
    ["http: to another machine", { url: "http://example.com/" }],
    ["another protocol", { url: "ftp://example.com/" }],
    ["no URL at all", { url: "example.com" }],
    ["a password in the URL", { url: "https://user:password@example.com/" }],
    ["a short secret", { url: "https://example.com/", secret: "short" }],
    ["a short secret in base64", { url: "https://example.com/", secret: `whsec_${btoa("short")}` }],
    ["a secret that is not base64", { url: "https://example.com/", secret: "whsec_?".padEnd(40, "?") }],
    ["no secret", { url: "https://example.com/", secret: [] }],
    ["a header that cannot be sent", { url: "https://example.com/", headers: { a: "password@\n\u0001" } }],
    ["no time to answer", { url: "https://example.com/", timeoutMs: 0 }],
    ["a time to answer that is none", { url: "https://example.com/", timeoutMs: Number.NaN }],
    ["more time to answer than a delivery has", { url: "https://example.com/", timeoutMs: 60_001 }],
  ])("is refused with %s, and the message gives nothing away", (_name, options) => {
    const make = () => webhookSink({ secret: SECRET, ...options });
    expect(make).toThrow(TypeError);
    expect(make).not.toThrow(/password@|short"|example\.com/);
  });

  test("may use http: to this machine, or with allowInsecure", () => {
    for (const url of ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]/"]) {
      expect(webhookSink({ url, secret: SECRET }).name).toBe("webhook");
    }
    expect(
      webhookSink({ url: "http://10.0.0.1/", secret: SECRET, allowInsecure: true, name: "in" }).name,
    ).toBe("in");
  });
});

describe("verifyWebhook", () => {
  async function receive(): Promise<{ headers: Headers; body: string }> {
    const { received, url } = await startReceiver();
    await send({ url });
    const [first] = received;
    if (first === undefined) throw new Error("Nothing was received.");
    return first;
  }

  test("returns the id and the events of a webhook that was signed with the secret", async () => {
    const webhook = await receive();
    expect(await verifyWebhook({ secret: SECRET, ...webhook })).toEqual({ id: "dlv_1", events: [stored] });
    const old = "another secret, which is on its way out";
    expect(await verifyWebhook({ secret: [old, SECRET], ...webhook })).toBeDefined();
  });

  test("returns undefined for a webhook that was changed, is too old or too new, or has another signature", async () => {
    const { headers, body } = await receive();
    const changed = (name: string, value: string | undefined) => {
      const copy = new Headers(headers);
      if (value === undefined) copy.delete(name);
      else copy.set(name, value);
      return copy;
    };
    const sentAtMs = Number(headers.get("webhook-timestamp")) * 1000;
    const attempts = [
      { headers, body: body.replace("clicked", "bought") },
      { headers: changed("webhook-id", "dlv_2"), body },
      { headers: changed("webhook-timestamp", String(sentAtMs / 1000 + 1)), body },
      { headers: changed("webhook-timestamp", "soon"), body },
      { headers: changed("webhook-signature", "v1,AAAA"), body },
      { headers: changed("webhook-signature", "v2,AAAA v1,?"), body },
      { headers: changed("webhook-signature", undefined), body },
      { headers, body, secret: "another secret, which is not the right one" },
      { headers, body, nowMs: sentAtMs + 300_001 },
      { headers, body, nowMs: sentAtMs - 300_001 },
    ];
    for (const attempt of attempts) {
      expect(await verifyWebhook({ secret: SECRET, ...attempt }), JSON.stringify(attempt)).toBeUndefined();
    }
    expect(await verifyWebhook({ secret: SECRET, headers, body, nowMs: sentAtMs + 300_000 })).toBeDefined();
  });
});

const event = (name: string) => ({ flagKey: "k", event: name });

type Start = (flags: FeatureFlagsOptions, log: (message: string) => void) => Promise<Host>;

async function onPostgres(...[flags, log]: Parameters<Start>): Promise<Host> {
  const db = await freshPostgres();
  const { database, close } = db.connect();
  await database.query(featureFlagsPostgresMigration);
  const host = await startHost({ database, flags: { ...flags, postgres: database }, log });
  onTestFinished(async () => {
    await host.close();
    await close();
    await db.drop();
  });
  return host;
}

const starts: readonly (readonly [string, Start])[] = [
  ["SQLite", (flags, log) => memoryHost({ flags, log })],
  ["PostgreSQL", onPostgres],
];

describe.each(starts)("events of an application with a webhook, on %s", (_name, start) => {
  test("reach the receiver in order and at least once although it fails, hangs and disconnects, and metrics count them", async () => {
    const { received, receiver, url } = await startReceiver(answer(503));
    const logged: string[] = [];
    const sinks = [webhookSink({ url, secret: SECRET, timeoutMs: 300 })];
    const host = await start({ events: { sinks } }, (message) => logged.push(message));
    await host.auth.api.createFeatureFlag({ body: flag() });
    await host.request("/feature-flags/events", event("first"));
    await host.request("/feature-flags/events/batch", { events: [event("second"), event("third")] });

    // It hangs; then it has the events, and the sender does not learn of it.
    const turns: Behaviour[] = [() => undefined, (request) => void request.socket.destroy()];
    receiver.behave = (request, response) => (turns.shift() ?? answer(200))(request, response);
    await vi.waitFor(() => expect(received.length).toBeGreaterThanOrEqual(3), {
      timeout: 19_000,
      interval: 100,
    });
    await vi.waitFor(async () => {
      await deliverFeatureFlagEvents(host.auth);
      const metrics = await host.auth.api.getFeatureFlagsMetrics();
      expect(metrics).toContain('halyard_flags_sink_events_total{sink="webhook"} 3\n');
      expect(metrics).toContain('halyard_flags_sink_backlog_events{sink="webhook"} 0\n');
      expect(metrics).toMatch(/sink_deliveries_total\{sink="webhook",outcome="failed"\} [1-9]/);
    }, 19_000);
    const names: string[] = [];
    const seen = new Set<string>();
    for (const { headers, body } of received) {
      const webhook = await verifyWebhook({ secret: SECRET, headers, body });
      if (webhook === undefined) throw new Error("A webhook was not signed.");
      if (!seen.has(webhook.id)) names.push(...webhook.events.map((one) => one.event));
      seen.add(webhook.id);
    }
    expect(names).toEqual(["first", "second", "third"]);
    expect(logged.join("\n")).toMatch(/cannot be delivered now.*webhook/);
    for (const secret of [SECRET, url]) expect(logged.join("\n")).not.toContain(secret);
  }, 40_000);
});

describe("sinks", () => {
  test("get waiting events when the application delivers them without a timer", async () => {
    const { received, url } = await startReceiver();
    const host = await memoryHost({ flags: { events: { sinks: [webhookSink({ url, secret: SECRET })] } } });
    await host.auth.api.createFeatureFlagEvent({ body: event("bought") });
    await vi.waitFor(async () => {
      await deliverFeatureFlagEvents(host.auth);
      expect(received).toHaveLength(1);
    }, 10_000);
    expect(JSON.parse(received[0]?.body ?? "").data.events).toMatchObject([
      { flagKey: "k", event: "bought", id: expect.any(String) },
    ]);
  });

  test("with the same name are refused", () => {
    const sink = (name: string): EventSink => ({ name, deliver: async () => undefined });
    expect(() => featureFlags({ events: { sinks: [sink("a"), sink("a")] } })).toThrow(
      /Two sinks have the name "a"/,
    );
    expect(() => featureFlags({ events: { sinks: [sink("a b")] } })).toThrow(/name/);
  });
});
