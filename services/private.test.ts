import { createConnection } from "mysql2/promise";
import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";
import {
  type PrivateServer,
  startMariadb,
  startNats,
  startNatsCluster,
  startPostgres,
  startRedis,
  startRedisCluster,
} from "./index.ts";
import { checkJetStream, natsInfo } from "./nats.ts";
import { processStart } from "./process-table.ts";
import { askRedis } from "./redis.ts";

// Servers are started and restarted here, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const started: { stop(): Promise<void> }[] = [];

async function start<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

async function killAndRestart(server: PrivateServer): Promise<void> {
  const { pid, port, url } = server;
  await server.kill();
  expect(processStart(pid)).toBeUndefined();
  await server.restart();
  expect(server.pid).not.toBe(pid);
  expect(server).toMatchObject({ port, url });
}

test("a private Redis can be killed and restarted on the same port with its data", async () => {
  const server = await start(startRedis());
  await askRedis(server.url, "SET", "greeting", "hello");
  await server.kill();
  await expect(askRedis(server.url, "PING")).rejects.toThrow("ECONNREFUSED");
  await server.restart();
  expect(await askRedis(server.url, "GET", "greeting")).toBe("hello");
});

test("a paused server keeps its connections and responds only when it is resumed", async () => {
  const [server, other] = await Promise.all([start(startRedis()), start(startRedis())]);
  server.pause();
  let answered = false;
  const answer = askRedis(server.url, "PING").then((reply) => {
    answered = true;
    return reply;
  });
  // A running server would have responded by the time another one has responded repeatedly.
  for (let times = 0; times < 100; times++) await askRedis(other.url, "PING");
  expect(answered).toBe(false);
  server.resume();
  expect(await answer).toBe("PONG");
});

test("a paused server can be stopped", async () => {
  const server = await start(startRedis());
  server.pause();
  await server.stop();
  expect(processStart(server.pid)).toBeUndefined();
});

test("a private PostgreSQL keeps its data when it is killed and restarted", async () => {
  const server = await start(startPostgres());
  const before = new pg.Client(server.url);
  before.on("error", () => {});
  await before.connect();
  await before.query("create table things (id int)");
  await before.query("insert into things values (42)");
  await killAndRestart(server);
  const after = new pg.Client(server.url);
  await after.connect();
  expect((await after.query("select id from things")).rows).toEqual([{ id: 42 }]);
  await after.end();
});

test("a private MariaDB keeps its data when it is killed and restarted", async () => {
  const server = await start(startMariadb());
  const before = await createConnection(server.url);
  before.on("error", () => {});
  await before.query("create database things");
  await before.query("create table things.list (id int)");
  await before.query("insert into things.list values (42)");
  await killAndRestart(server);
  const after = await createConnection(server.url);
  const [rows] = await after.query("select id from things.list");
  expect(rows).toEqual([{ id: 42 }]);
  await after.end();
});

test("a private NATS starts with JetStream, can be killed and restarted", async () => {
  const server = await start(startNats());
  await checkJetStream(server.url);
  await killAndRestart(server);
  await checkJetStream(server.url);
});

test("a Redis Cluster of three masters covers all slots, also after one was killed and restarted", async () => {
  const cluster = await start(startRedisCluster({ masters: 3 }));
  expect(cluster.urls).toHaveLength(3);
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("There are fewer than two nodes.");
  const info = await askRedis(first.url, "CLUSTER", "INFO");
  expect(info).toContain("cluster_state:ok");
  expect(info).toContain("cluster_slots_ok:16384");
  await second.kill();
  await second.restart();
  await cluster.healthy();
});

test("a NATS cluster of three nodes elects a leader, and every node knows all nodes", async () => {
  const cluster = await start(startNatsCluster({ nodes: 3 }));
  for (const { url } of cluster.nodes) {
    expect((await natsInfo(url)).connectUrls).toHaveLength(3);
    await checkJetStream(url);
  }
});
