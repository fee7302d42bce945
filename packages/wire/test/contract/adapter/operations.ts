/** Health, metrics and connection limits of a server. */
import { describe, expect, test } from "vitest";
import { connect, greeted, HALYARD, handshake } from "./peer.ts";
import { POLL, type Suite } from "./suite.ts";

const SETTINGS_MAX_CONNECTIONS = 3;

export function operationTests(suite: Suite): void {
  const http = (url: string, path: string, init?: RequestInit) =>
    fetch(`${url.replace("ws:", "http:")}${path}`, init);

  describe.skipIf(!suite.can.endpoints)("the endpoints of a server", () => {
    const server = suite.serving("measured");

    test("report its health and number of connections", async () => {
      const peer = await greeted(server().url);
      const response = await http(server().url, "/health?verbose=1");
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await response.json()).toEqual({ status: "ok", connections: 1 });
      await peer.close();
    });

    test("return metrics as text for Prometheus", async () => {
      const peer = await greeted(server().url);
      await peer.request("GREET", { name: "Ada" });
      const response = await http(server().url, "/metrics");
      expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      const text = await response.text();
      expect(text).toMatch(/^halyard_wire_connections 1$/m);
      expect(text).toMatch(/^halyard_wire_rpc_duration_seconds_count\{type="GREET",outcome="ok"\} \d+$/m);
      await peer.close();
    });

    test("accept only GET, and other requests receive 426", async () => {
      for (const path of ["/health", "/metrics"])
        expect((await http(server().url, path, { method: "POST" })).status).toBe(426);
      expect((await http(server().url, "/health/")).status).toBe(426);
    });

    test("do not exist unless they are configured", async () => {
      const plain = await suite.start("open");
      for (const path of ["/health", "/metrics"]) expect((await http(plain.url, path)).status).toBe(426);
      await plain.stop();
    });
  });

  test.skipIf(!suite.can.endpoints)(
    "a draining server reports 503 for health, so that a load balancer sends no more connections",
    async () => {
      const server = await suite.start("measured");
      const busy = await greeted(server.url);
      busy.send("HANG", undefined, { correlationId: "h" });
      busy.send("END", { how: "drain" });
      await busy.next("$ws:drain");
      const response = await http(server.url, "/health");
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ status: "draining" });
      await server.stop();
    },
  );

  test("a connection over the limit receives a time to retry and is accepted once another has closed", async () => {
    const server = await suite.start("measured");
    const peers = [];
    for (let i = 0; i < SETTINGS_MAX_CONNECTIONS; i++) peers.push(await greeted(server.url));
    const refused = await connect(server.url, { protocols: [HALYARD] });
    expect(await refused.closed).toMatchObject({
      code: 1013,
      reason: expect.stringMatching(/^retryAfterMs=\d+$/),
    });
    expect(refused.frames).toEqual([]);
    const plain = await handshake(server.url);
    expect(plain.status).toBe(503);
    expect(plain.headers["retry-after"]).toMatch(/^\d+$/);
    if (suite.can.endpoints) {
      const figures = await (await http(server.url, "/metrics")).text();
      expect(figures).toMatch(/^halyard_wire_refused_upgrades_total 2$/m);
    }
    await peers[0]?.close();
    await expect.poll(async () => (await handshake(server.url)).status, POLL).toBe(101);
    await server.stop();
  });

  test("upgrades over the limit per second receive a time to retry", async () => {
    const server = await suite.start("paced");
    const answers = await Promise.all(Array.from({ length: 20 }, () => handshake(server.url)));
    expect(answers.filter(({ status }) => status === 101).length).toBeGreaterThanOrEqual(2);
    expect(answers.find(({ status }) => status === 503)?.headers["retry-after"]).toMatch(/^\d+$/);
    await expect.poll(async () => (await handshake(server.url)).status, POLL).toBe(101);
    await server.stop();
  });
}
