/** Checks the client on Cloudflare Workers against a real server. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startWorker, type Worker } from "@halyard/services/worker";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { golden } from "../engine/golden.ts";
import type { Host, Person } from "../host.ts";
import { flag, suiteHost } from "../memory-host.ts";
import { readEverything, runClientVectors } from "./vectors.ts";

let worker: Worker;
let rollouts: Host;
let variants: Host;
let host: Host;
let ada: Person;

beforeAll(async () => {
  worker = await startWorker({ entry: new URL("../fixtures/client-worker.ts", import.meta.url).pathname });
});
afterAll(() => worker.stop());

suiteHost({}, async (made) => {
  rollouts = made;
  for (const key of new Set(golden.rollouts.map((rollout) => rollout.key))) {
    const environments = Object.fromEntries(
      golden.rollouts
        .filter((rollout) => rollout.key === key)
        .map(({ percentage }) => [`p${percentage}`, { rolloutPercentage: percentage }]),
    );
    await make(made, { key, type: "boolean", defaultValue: false, environments });
  }
});
suiteHost({}, async (made) => {
  variants = made;
  for (const { key } of golden.variants) await make(made, { key, variants: golden.variantsOf });
});
suiteHost({}, async (made) => {
  host = made;
  ada = await made.person("ada");
  await make(made, { key: "on", type: "boolean", defaultValue: true });
  await make(made, { key: "off", type: "boolean", defaultValue: false, enabled: false });
  await make(made, { key: "text", defaultValue: "2026-01-01T00:00:00.000Z" });
  await make(made, { key: "number", type: "number", defaultValue: 0.1 });
  await make(made, { key: "json", type: "json", defaultValue: { deep: [null, { is: "it" }] } });
  const byRule = await make(made, { key: "by-rule", defaultValue: "no rule" });
  const conditions = {
    conditions: [
      { attribute: "attributes.plan", operator: "in" as const, value: ["pro", "team"] },
      { attribute: "attributes.email", operator: "regex" as const, value: "^[a-z]+@example\\.com$" },
    ],
  };
  await made.auth.api.createFeatureFlagRule({
    body: { flagId: byRule.id, priority: 1, conditions, value: "a rule" },
  });
  const overridden = await make(made, { key: "own", defaultValue: "everybody's" });
  await made.auth.api.createFeatureFlagOverride({
    body: { flagId: overridden.id, userId: ada.id, value: "ada's" },
  });
});

function make(made: Host, fields: object) {
  return made.auth.api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
}

async function ask(path: string, question: object): Promise<unknown> {
  const response = await fetch(`${worker.url.replace("ws:", "http:")}${path}`, {
    method: "POST",
    body: JSON.stringify(question),
    signal: AbortSignal.timeout(50_000),
  });
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json();
}

/** A slow proxy to the server that records the requests. */
async function slowLine(delayMs: number): Promise<{ origin: string; paths: string[] }> {
  const paths: string[] = [];
  async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    paths.push(String(request.url).replace("/api/auth/feature-flags/", ""));
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const answer = await fetch(host.origin + request.url, {
      method: "POST",
      headers: { "content-type": "application/json", origin: host.origin },
      body: Buffer.concat(chunks),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  }
  // The client may have disconnected by now, which is what the tests check.
  const line = createServer((request, response) => void passOn(request, response).catch(() => undefined));
  await new Promise<void>((resolve) => line.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    line.closeAllConnections();
    line.close();
  });
  return { origin: `http://127.0.0.1:${(line.address() as AddressInfo).port}`, paths };
}

describe("a client in a worker", () => {
  test("returns the golden value for every user, as on Node", { timeout: 60_000 }, async () => {
    const servers = { rollouts: rollouts.origin, variants: variants.origin };
    const there = await ask("/vectors", { servers });
    expect(there).toEqual({ checked: golden.ids.length * 48, failures: [] });
    expect(await runClientVectors(servers)).toEqual(there);
  });

  test("reads flags of every type, for anonymous visitors and signed-in users, as on Node", async () => {
    for (const headers of [{}, ada.headers]) {
      const there = await ask("/everything", { server: host.origin, headers });
      expect(there).toEqual(JSON.parse(JSON.stringify(await readEverything(host.origin, headers))));
    }
    const { all } = (await ask("/everything", { server: host.origin, headers: ada.headers })) as never;
    expect(all).toEqual({
      on: true,
      off: false,
      text: "2026-01-01T00:00:00.000Z",
      number: 0.1,
      json: { deep: [null, { is: "it" }] },
      "by-rule": "a rule",
      own: "ada's",
    });
  });

  test("returns the default after the timeout without a response", async () => {
    const { origin } = await slowLine(5_000);
    expect(await ask("/default", { server: origin })).toBe("mine");
    expect(await ask("/default", { server: "http://127.0.0.1:1" })).toBe("mine");
  });

  test("reports exposures and events after the response with waitUntil, and no exposures without it", async () => {
    const { origin, paths } = await slowLine(50);
    for (const path of ["/no-exposures", "/exposures"])
      expect(await ask(path, { server: origin })).toBe("2026-01-01T00:00:00.000Z");
    expect(await ask("/track", { server: origin })).toBe("answered before it was sent");
    await expect
      .poll(() => [...paths].sort(), { timeout: 10_000 })
      .toEqual(["bootstrap", "bootstrap", "evaluate-batch", "events"]);
  });

  test("does not hang if requests share it and one of them ends before its response", async () => {
    const { origin, paths } = await slowLine(300);
    expect(await ask("/abandoned", { server: origin })).toBe("answered before anything came back");
    const together = await Promise.all([1, 2, 3].map(() => ask("/shared", { server: origin })));
    expect(together).toEqual(Array(3).fill(["2026-01-01T00:00:00.000Z", true]));
    // The abandoned fetch, and a second one that one of the three requests started and the other two waited for.
    expect(paths.filter((path) => path === "bootstrap")).toHaveLength(2);
  });
});
