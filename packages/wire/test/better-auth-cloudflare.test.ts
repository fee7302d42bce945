/** Connections of a Durable Object that belong to sessions of Better Auth, in the real workerd. */
import { startWorker, type Worker } from "@halyard/services/worker";
import { wsClient } from "@halyard/wire/client";
import { rpc, z } from "@halyard/wire/zod";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";

const Who = rpc("WHO", undefined, "WHO_IS", { userId: z.string() });
const SOON = { timeout: 10_000, interval: 10 };
let worker: Worker;
let http: string;
beforeAll(async () => {
  worker = await startWorker({
    entry: new URL("fixtures/session-worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: "Room", FOLLOWING: "Following" },
    nodeModules: true,
  });
  http = worker.url.replace(/^ws/, "http").replace(/\/$/, "");
});
afterAll(() => worker.stop());

async function call(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${http}/api/auth${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: http, ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} returned ${response.status} ${await response.text()}`);
  return response.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
}

let count = 0;
async function connect() {
  const name = `user${++count}`;
  const body = { name, email: `${name}@example.com`, password: "correct horse battery" };
  const cookie = (await call("/sign-up/email", body)).join("; ");
  const client = wsClient({
    url: `${worker.url}/ws`,
    // The cookie authenticates; the option lets the client connect again at `expiresAt`.
    auth: { getToken: () => null },
    wsFactory: (address, protocols) =>
      new WebSocket(address, protocols, { headers: { cookie }, origin: http }),
  });
  client.onError(() => {});
  onTestFinished(() => client.close());
  const lost: unknown[] = [];
  client.onSessionLost((info) => lost.push(info?.closeCode));
  await client.connect();
  // The platform closes a socket that has sent nothing only when the object hibernates.
  await client.request(Who);
  return { client, cookie, lost, connectedAt: performance.now() };
}

describe("guide/sessions: Durable Objects", () => {
  test("a sign-out that is passed on with disconnect() closes the connections of the session with 4401, and no other", async () => {
    const [ann, bob] = [await connect(), await connect()];
    await call("/sign-out", {}, { cookie: ann.cookie });
    await vi.waitFor(() => expect(ann.lost).toEqual([4401]), SOON);
    expect((await bob.client.request(Who)).payload.userId).toEqual(expect.any(String));
  });

  test("a sign-out that is not passed on closes them at expiresAt, and they cannot come back", async () => {
    const [ann, bob] = [await connect(), await connect()];
    const states: string[] = [];
    bob.client.onState((state) => states.push(state));
    await call("/sign-out", {}, { cookie: ann.cookie, "x-untold": "1" });
    await vi.waitFor(() => expect(ann.lost.length).toBeGreaterThan(0), SOON);
    expect(performance.now() - ann.connectedAt).toBeGreaterThan(2_900);
    // The session of the other one holds, so that its client connects again.
    await vi.waitFor(() => expect(states.slice(-2)).toEqual(["reconnecting", "open"]), SOON);
    expect((await bob.client.request(Who)).payload.userId).toEqual(expect.any(String));
    await expect(ann.client.connect({ attempts: 1 })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("betterAuthSession() throws in an object, and says what to do instead", async () => {
    const text = await (await fetch(`${http}/refusal`)).text();
    expect(text).toContain("does not work in a Durable Object");
    expect(text).toContain("disconnect()");
  });
});
