import { createConnection } from "mysql2/promise";
import pg from "pg";
import { describe, expect, test } from "vitest";
import {
  createMariadbDatabase,
  createNatsPrefix,
  createPostgresDatabase,
  createRedisPrefix,
  serviceUrl,
} from "./index.ts";
import { checkJetStream, natsInfo } from "./nats.ts";
import { askRedis } from "./redis.ts";

async function queryPostgres(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}

async function queryMariadb(url: string, sql: string): Promise<unknown> {
  const connection = await createConnection(url);
  try {
    const [rows] = await connection.query(sql);
    return rows;
  } finally {
    await connection.end();
  }
}

describe("the shared server responds at its URL:", () => {
  test("PostgreSQL", async () => {
    expect(await queryPostgres(await serviceUrl("postgres"), "select 1 as one")).toEqual([{ one: 1 }]);
  });
  test("MariaDB", async () => {
    expect(await queryMariadb(await serviceUrl("mariadb"), "select 1 as one")).toEqual([{ one: 1 }]);
  });
  test("Redis", async () => {
    expect(await askRedis(await serviceUrl("redis"), "PING")).toBe("PONG");
  });
  test("NATS, with JetStream", async () => {
    const url = await serviceUrl("nats");
    expect(await natsInfo(url)).toMatchObject({ jetStream: true });
    await checkJetStream(url);
  });
});

describe.each([
  { title: "PostgreSQL", create: createPostgresDatabase, query: queryPostgres },
  { title: "MariaDB", create: createMariadbDatabase, query: queryMariadb },
])("a test database on $title", ({ create, query }) => {
  test("is invisible in other test databases and does not exist after drop", async () => {
    const [first, second] = await Promise.all([create(), create()]);
    await query(first.url, "create table things (id int)");
    await expect(query(second.url, "select * from things")).rejects.toThrow(/things/);
    expect(await query(first.url, "select * from things")).toEqual([]);
    await Promise.all([first.drop(), second.drop()]);
    await expect(query(first.url, "select 1")).rejects.toThrow(/does not exist|unknown database/i);
    await expect(query(second.url, "select 1")).rejects.toThrow(/does not exist|unknown database/i);
  });
});

test("a PostgreSQL test database can be dropped while a connection to it is open", async () => {
  const database = await createPostgresDatabase();
  const client = new pg.Client(database.url);
  const closed = new Promise((resolve) => client.on("error", resolve));
  await client.connect();
  await database.drop();
  await expect(closed).resolves.toMatchObject({ code: "57P01" });
  await client.end();
});

test("a MariaDB test database can be dropped while a connection to it is open", async () => {
  const database = await createMariadbDatabase();
  const connection = await createConnection(database.url);
  await database.drop();
  await connection.end();
  await expect(queryMariadb(database.url, "select 1")).rejects.toThrow(/unknown database/i);
});

test("every test file has its own prefix on Redis and NATS", async () => {
  const prefixes = await Promise.all([
    createRedisPrefix(),
    createRedisPrefix(),
    createNatsPrefix(),
    createNatsPrefix(),
  ]);
  expect(new Set(prefixes.map(({ prefix }) => prefix)).size).toBe(4);
  for (const { prefix } of prefixes) expect(prefix).toMatch(/^\w+$/);
});
