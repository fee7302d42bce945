/** Connections that follow the session of a Better Auth instance, on Bun. */
import { bunPath, spawnProgram } from "@halyard/services";
import { wsClient } from "@halyard/wire/client";
import { rpc, z } from "@halyard/wire/zod";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";

const Who = rpc("WHO", undefined, "WHO_IS", { userId: z.string() });
const SOON = { timeout: 2000, interval: 10 };

test("Bun: a sign-out closes the connections of the session with 4401, and no other", async () => {
  const fixture = new URL("fixtures/better-auth-bun.ts", import.meta.url).pathname;
  const program = await spawnProgram({
    command: bunPath(),
    args: ["--conditions=@halyard/source", fixture],
  });
  onTestFinished(program.kill);
  const url = `http://127.0.0.1:${program.port}`;

  async function call(path: string, body: object, cookie = "") {
    const response = await fetch(`${url}/api/auth${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: url, ...(cookie && { cookie }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} returned ${response.status} ${await response.text()}`);
    return response.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
  }
  async function connect(name: string) {
    const body = { name, email: `${name}@example.com`, password: "correct horse battery" };
    const cookie = (await call("/sign-up/email", body)).join("; ");
    const client = wsClient({
      url: `${url.replace("http", "ws")}/ws`,
      wsFactory: (address, protocols) =>
        new WebSocket(address, protocols, { headers: { cookie }, origin: url }),
    });
    client.onError(() => {});
    onTestFinished(() => client.close());
    const lost: unknown[] = [];
    client.onSessionLost((info) => lost.push(info?.closeCode));
    await client.connect();
    return { client, cookie, lost };
  }

  const [ann, bob] = [await connect("ann"), await connect("bob")];
  await call("/sign-out", {}, ann.cookie);
  await vi.waitFor(() => expect(ann.lost).toEqual([4401]), SOON);
  expect((await bob.client.request(Who)).payload.userId).toEqual(expect.any(String));
});
