/** History while Redis restarts, fails over, or is not reachable: what may be lost is told by a new epoch. */
import { type PrivateServer, startRedis } from "@halyard/services";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type BrokerPubSub, type History, type HistoryPosition, redisPubSub } from "../src/redis.ts";

vi.setConfig({ testTimeout: 60_000 });
const POLL = { timeout: 30_000, interval: 20 };
const KEPT = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };

const servers: PrivateServer[] = [];
const opened: BrokerPubSub[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((pubsub) => pubsub.close()));
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function server(settings?: Record<string, string>): Promise<PrivateServer> {
  const started = await startRedis(settings);
  servers.push(started);
  return started;
}

function open({ url }: PrivateServer, durable = false): History {
  const pubsub = redisPubSub(createClient({ url }), { durable });
  opened.push(pubsub);
  if (pubsub.history === undefined) throw new Error("The pub/sub keeps no history.");
  return pubsub.history;
}

/** Appends until Redis accepts it. */
async function append(history: History, frame: string, id = frame): Promise<HistoryPosition> {
  let position: HistoryPosition | undefined;
  await expect
    .poll(async () => {
      const result = await history.append("room", frame, { ...KEPT, id });
      position = result.ok ? result.position : undefined;
      return result.ok;
    }, POLL)
    .toBe(true);
  if (position === undefined) throw new Error("There is no position.");
  return position;
}

async function readAfter(history: History, after: HistoryPosition) {
  const { isMissing, items } = await history.read("room", { ...ALL, after });
  return { isMissing, frames: items.map(({ frame }) => frame) };
}

async function command({ url }: PrivateServer, ...[name = "", ...args]: string[]): Promise<unknown> {
  const client = new Redis(url);
  try {
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

/** Resolves when the replica has everything. */
async function replicated(master: PrivateServer): Promise<void> {
  expect(await command(master, "WAIT", "1", "20000")).toBe(1);
}

describe("history in Redis", () => {
  test("begins a new epoch after a restart without persistence, and offsets begin again", async () => {
    const redis = await server({ appendonly: "no" });
    const history = open(redis);
    const before = await append(history, "a");
    await redis.kill();
    await redis.restart();
    const after = await append(history, "b");
    expect(after.offset).toBe(1);
    expect(after.epoch).not.toBe(before.epoch);
    expect(await readAfter(history, before)).toEqual({ isMissing: true, frames: ["b"] });
  });

  test("begins a new epoch after a restart that lost the newest frames, and keeps the others", async () => {
    const redis = await server();
    const history = open(redis);
    const kept = await append(history, "kept");
    await command(redis, "CONFIG", "SET", "appendonly", "no");
    const lost = await append(history, "lost");
    await redis.kill();
    await redis.restart();
    const after = await append(history, "other");
    expect(after.offset).toBe(lost.offset);
    expect(after.epoch).not.toBe(lost.epoch);
    for (const position of [kept, lost])
      expect(await readAfter(history, position)).toEqual({ isMissing: true, frames: ["other"] });
    const { items } = await history.read("room", { ...ALL, last: 10 });
    expect(items.map(({ frame }) => frame)).toEqual(["kept", "other"]);
  });

  test("a read after the restart is told of the new epoch, also when nothing was appended since", async () => {
    const redis = await server();
    const history = open(redis);
    const before = await append(history, "a");
    await redis.kill();
    await redis.restart();
    await expect
      .poll(() => readAfter(history, before).catch(() => undefined), POLL)
      .toEqual({ isMissing: true, frames: [] });
    const top = await history.top("room");
    expect(top.offset).toBe(1);
    expect(await append(history, "b")).toEqual({ epoch: top.epoch, offset: 2 });
  });

  test("a reader of a topic without frames gets a gap after a restart, because frames may be lost", async () => {
    const redis = await server();
    const history = open(redis);
    const before = await history.top("room");
    await append(history, "a");
    await redis.kill();
    await redis.restart();
    await expect
      .poll(() => readAfter(history, before).catch(() => undefined), POLL)
      .toMatchObject({ isMissing: true });
    await append(history, "b");
    expect(await readAfter(history, before)).toMatchObject({ isMissing: true });
  });

  test("that is durable continues its epoch after a restart, without a gap", async () => {
    const redis = await server({ appendfsync: "always" });
    const history = open(redis, true);
    const before = await append(history, "a");
    await redis.kill();
    await redis.restart();
    expect(await append(history, "b")).toEqual({ epoch: before.epoch, offset: 2 });
    expect(await readAfter(history, before)).toEqual({ isMissing: false, frames: ["b"] });
  });

  test("begins a new epoch on a promoted replica", async () => {
    const [first, second] = [await server(), await server()];
    await command(second, "REPLICAOF", "127.0.0.1", String(first.port));
    const [atFirst, atSecond] = [open(first), open(second)];
    const before = await append(atFirst, "a");
    await replicated(first);
    await command(second, "REPLICAOF", "NO", "ONE");
    expect(await readAfter(atSecond, before)).toEqual({ isMissing: true, frames: [] });
    const after = await append(atSecond, "b");
    expect(after.offset).toBe(2);
    expect(after.epoch).not.toBe(before.epoch);
  });

  test("begins a new epoch on a server that is the master again without a restart, having lost a frame in between", async () => {
    const [first, second] = [await server(), await server()];
    await command(second, "REPLICAOF", "127.0.0.1", String(first.port));
    const history = open(first);
    await append(history, "a");
    await replicated(first);
    await command(second, "REPLICAOF", "NO", "ONE");
    const lost = await append(history, "lost");
    await command(first, "REPLICAOF", "127.0.0.1", String(second.port));
    await replicated(second);
    await command(first, "REPLICAOF", "NO", "ONE");
    const next = await append(history, "next");
    expect(next.offset).toBe(lost.offset);
    expect(next.epoch).not.toBe(lost.epoch);
    expect(await readAfter(history, lost)).toEqual({ isMissing: true, frames: ["next"] });
  });

  test("begins a new epoch for a process whose last append no server has any more, so that readers of other processes are told", async () => {
    const redis = await server({ appendonly: "no" });
    const [one, other] = [open(redis), open(redis)];
    await append(one, "lost");
    await redis.kill();
    await redis.restart();
    const before = await append(other, "a");
    const after = await append(one, "b");
    expect(after.offset).toBe(2);
    expect(after.epoch).not.toBe(before.epoch);
    expect(await readAfter(other, before)).toEqual({ isMissing: true, frames: ["b"] });
    const last = await append(other, "c");
    expect(last).toEqual({ epoch: after.epoch, offset: 3 });
    expect(await readAfter(one, after)).toEqual({ isMissing: false, frames: ["c"] });
  });

  test("gives a reader that comes from a second master a gap, and no frame that may be older than what it has", async () => {
    const redis = await server();
    const history = open(redis);
    await append(history, "a");
    await redis.kill();
    await redis.restart();
    await append(history, "b");
    const elsewhere = { epoch: "of-another-master.0", offset: 1 };
    expect(await readAfter(history, elsewhere)).toEqual({ isMissing: true, frames: [] });
  });

  test("an append that is repeated with its id after a failover is in the log once", async () => {
    const [first, second] = [await server(), await server()];
    await command(second, "REPLICAOF", "127.0.0.1", String(first.port));
    const [atFirst, atSecond] = [open(first), open(second)];
    const before = await append(atFirst, "a", "key");
    await replicated(first);
    await command(second, "REPLICAOF", "NO", "ONE");
    const again = await append(atSecond, "a", "key");
    expect(again.offset).toBe(before.offset);
    expect((await atSecond.read("room", { ...ALL, last: 10 })).items).toHaveLength(1);
  });

  test("an append fails in time while Redis is not reachable, and a read rejects", async () => {
    const redis = await server();
    const history = open(redis);
    await append(history, "a");
    await redis.kill();
    await expect
      .poll(() => history.append("room", "b", KEPT), POLL)
      .toMatchObject({ ok: false, error: "DISCONNECTED", retryable: true });
    await expect((async () => history.read("room", ALL))()).rejects.toThrow(Error);
    await redis.restart();
    await append(history, "c");
  });
});
