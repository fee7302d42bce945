/** The contract of a bus, over PostgreSQL and Redis. */
import { postgresBus } from "@halyard/base/postgres";
import { redisBus } from "@halyard/base/redis";
import { createPostgresDatabase, createRedisPrefix } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { type BrittleServer, busSuite, outageSuite } from "./contract/bus.ts";

/** No server listens on this port. */
const NOWHERE = "127.0.0.1:1";

async function startPostgres(): Promise<BrittleServer> {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const open = (connectionString: string) => {
    const pool = openPool({ connectionString, max: 4 });
    onTestFinished(() => pool.end());
    return pool;
  };
  const other = open(url);
  return {
    tellsLoss: true,
    connect: async () => postgresBus(open(url), "announcements"),
    unreachable: async () => postgresBus(open(`postgres://${NOWHERE}/none`), "announcements"),
    async cut() {
      await other.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
      );
    },
  };
}

busSuite("PostgreSQL", startPostgres);
outageSuite("PostgreSQL", startPostgres);

/** Ends the subscribing connections of this test only: other tests use the same server. */
async function cutSubscribers(name: string, run: (command: string, ...values: string[]) => Promise<unknown>) {
  const list = String(await run("CLIENT", "LIST", "TYPE", "pubsub"));
  for (const line of list.split("\n").filter((text) => text.includes(` name=${name} `))) {
    await run("CLIENT", "KILL", "ID", /^id=(\d+)/.exec(line)?.[1] ?? "");
  }
}

async function startNodeRedis(): Promise<BrittleServer> {
  const { url, prefix } = await createRedisPrefix();
  const create = (at: string) => {
    const client = createClient({
      url: at,
      name: prefix,
      disableOfflineQueue: true,
      socket: { reconnectStrategy: 20 },
    }).on("error", () => {});
    onTestFinished(() => client.destroy());
    return client;
  };
  const other = await create(url).connect();
  return {
    tellsLoss: true,
    connect: async () => redisBus(await create(url).connect(), `${prefix}:bus`),
    async unreachable() {
      const client = create(`redis://${NOWHERE}`);
      client.connect().catch(() => undefined);
      return redisBus(client, `${prefix}:bus`);
    },
    cut: () => cutSubscribers(prefix, (...command) => other.sendCommand(command)),
  };
}

busSuite("Redis, with redis", startNodeRedis);
outageSuite("Redis, with redis", startNodeRedis);

async function startIoredis(): Promise<BrittleServer> {
  const { url, prefix } = await createRedisPrefix();
  const create = (at: string) => {
    const client = new Redis(at, {
      connectionName: prefix,
      maxRetriesPerRequest: 1,
      retryStrategy: () => 20,
    });
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    return client;
  };
  const other = create(url);
  return {
    tellsLoss: true,
    connect: async () => redisBus(create(url), `${prefix}:bus`),
    unreachable: async () => redisBus(create(`redis://${NOWHERE}`), `${prefix}:bus`),
    cut: () => cutSubscribers(prefix, (command, ...values) => other.call(command, ...values)),
  };
}

busSuite("Redis, with ioredis", startIoredis);
outageSuite("Redis, with ioredis", startIoredis);

test("a channel of PostgreSQL is a plain identifier", () => {
  for (const channel of ["", "Upper", "with space", 'quote"', "1st", "x".repeat(64)]) {
    expect(() => postgresBus(openPool({}), channel)).toThrow(
      `The channel "${channel}" is not a plain identifier`,
    );
  }
});
