/** Presence over processes that are killed and drained, and a broker that fails. */
import { bunPath, type Program, spawnProgram, startNats, startRedis } from "@halyard/services";
import { afterAll, describe, test } from "vitest";
import { joinChannel, wsClient } from "../src/client/zod.ts";
import { Room } from "./fixtures/presence-room.ts";
import type { PresenceServerOptions } from "./fixtures/presence-server.ts";

const POLL = { timeout: 20_000, interval: 20 };
/** Members of a dead process are gone within this time. */
const GONE_MS = 5_000;

const BROKERS = [
  { name: "Redis", start: startRedis, command: bunPath },
  { name: "NATS", start: startNats, command: () => process.execPath },
] as const;

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function startServer(options: PresenceServerOptions, command = process.execPath): Promise<Program> {
  const program = await spawnProgram({
    command,
    args: ["--conditions=@halyard/source", new URL("fixtures/presence-server.ts", import.meta.url).pathname],
    env: { NODE_ENV: "production", OPTIONS: JSON.stringify(options) },
  });
  cleanups.push(() => program.kill());
  return program;
}

/** A client that has joined; `lead` names the server for its next connection. */
async function join(server: Program, user: string) {
  let target: { readonly port: number } = server;
  const client = wsClient({
    url: `ws://127.0.0.1:1/?user=${user}`,
    reconnect: { initialDelayMs: 50, maxDelayMs: 200 },
    wsFactory: (url, protocols) =>
      new WebSocket(String(url).replace(":1/", `:${target.port}/`), protocols as string[]),
  });
  client.onError(() => undefined);
  cleanups.push(() => client.close());
  await client.connect();
  const room = joinChannel(client, Room, { id: "general" });
  await room.joined;
  /** Every list that the application was shown. */
  const shown: string[] = [];
  const keys = () =>
    room.members
      .map(({ key }) => key)
      .sort()
      .join();
  room.onMembers(() => shown.push(keys()));
  return {
    client,
    room,
    shown,
    keys,
    lead: (next: { readonly port: number }) => {
      target = next;
    },
  };
}

describe.concurrent.each(BROKERS)("members over $name", ({ name, start, command }) => {
  test("are the same in all processes; a dead process loses them within 5 s, a draining one does not, and an outage removes no member", {
    timeout: 120_000,
  }, async ({ expect }) => {
    const broker = await start();
    cleanups.push(() => broker.stop());
    const options = { broker: name, url: broker.url } as const;
    const [first, second, third] = await Promise.all([
      startServer(options),
      startServer(options, command()),
      startServer(options),
    ]);

    const ann = await join(first, "ann");
    const ben = await join(second, "ben");
    const cas = await join(third, "cas");
    for (const { keys } of [ann, ben, cas]) await expect.poll(keys, POLL).toBe("ann,ben,cas");
    expect(ann.room.members.find(({ key }) => key === "ben")).toEqual({ key: "ben", name: "Name of ben" });

    // The process of ben dies; ben does not return.
    await ben.client.close();
    const returned = await join(second, "ben");
    await expect.poll(ann.keys, POLL).toBe("ann,ben,cas");
    returned.lead({ port: 1 });
    await second.kill();
    const killedAt = performance.now();
    await expect.poll(ann.keys, POLL).toBe("ann,cas");
    await expect.poll(cas.keys, POLL).toBe("ann,cas");
    expect(performance.now() - killedAt).toBeLessThan(GONE_MS);
    await returned.client.close();

    // The process of cas is drained; cas joins another one in time.
    const before = ann.shown.length;
    cas.lead(first);
    process.kill(third.pid, "SIGTERM");
    await third.exited;
    await expect.poll(() => cas.room.state, POLL).toBe("joined");
    await expect.poll(cas.keys, POLL).toBe("ann,cas");
    const fourth = await startServer(options);
    const dan = await join(fourth, "dan");
    await expect.poll(ann.keys, POLL).toBe("ann,cas,dan");
    expect(ann.shown.slice(before).filter((keys) => !keys.includes("cas"))).toEqual([]);

    // The broker is down for longer than a process may be silent.
    await broker.kill();
    for (const { room } of [ann, dan]) await expect.poll(() => room.isPartial, POLL).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    for (const { keys } of [ann, dan]) expect(keys()).toBe("ann,cas,dan");
    await broker.restart();
    for (const { room } of [ann, dan]) await expect.poll(() => room.isPartial, POLL).toBe(false);
    for (const { keys } of [ann, dan]) expect(keys()).toBe("ann,cas,dan");
    dan.room.leave();
    await expect.poll(ann.keys, POLL).toBe("ann,cas");
  });
});
