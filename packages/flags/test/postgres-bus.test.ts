/** The PostgreSQL notification bus between processes, and polling while the bus is down. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type BrittleServer, busSuite, outageSuite } from "../../base/test/contract/bus.ts";
import { createAnnouncer } from "../src/server/bus.ts";
import type { FlagStore } from "../src/store/flag-store.ts";
import { createPostgresBus } from "../src/store/postgres/bus.ts";
import { by, flagInput, fresh, openStoreHost, type StoreHost } from "./contract/store-host.ts";
import { type FreshPostgres, freshPostgres } from "./databases.ts";

/** No server listens on this port. */
const NOWHERE = "postgres://127.0.0.1:1/none";

async function startServer(): Promise<BrittleServer> {
  const opened = await freshPostgres();
  onTestFinished(opened.drop);
  const open = (options: object) => {
    const { database, close } = opened.connect({ max: 1, ...options });
    onTestFinished(close);
    return database;
  };
  const other = open({});
  return {
    tellsLoss: true,
    connect: async () => createPostgresBus(open({})),
    unreachable: async () => createPostgresBus(open({ connectionString: NOWHERE })),
    async cut() {
      await other.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
      );
    },
  };
}

busSuite("PostgreSQL, as the option `postgres` has it", startServer);
outageSuite("PostgreSQL, as the option `postgres` has it", startServer);

let db: FreshPostgres;
let host: StoreHost;
const cleanUp: (() => unknown)[] = [];

beforeAll(async () => {
  const opened = await freshPostgres();
  db = opened;
  host = await openStoreHost({ open: async () => opened });
});
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});
afterAll(() => host?.close());

interface BusNode {
  readonly store: FlagStore;
  readonly warnings: string[];
  /** The application name of the listening connection. */
  readonly name: string;
}

/** A process with a bus and a polling interval longer than the test. */
async function openNode({ pollMs = 600_000, schema = "public", isCut = false } = {}): Promise<BusNode> {
  const name = fresh("bus");
  const { database: pool } = db.connect({
    ...(isCut && { connectionString: NOWHERE }),
    max: 2,
    application_name: name,
    options: `-c search_path=${schema}`,
  });
  const warnings: string[] = [];
  const node = await host.another({
    pollMs,
    warn: (message) => warnings.push(message),
    connectBus: (listener) =>
      createAnnouncer({
        bus: createPostgresBus(pool),
        listener,
        received: () => undefined,
        listens: pollMs !== 0,
        warn: (message) => warnings.push(message),
      }),
  });
  cleanUp.push(
    () => pool.end(),
    () => node.close(),
  );
  return { store: node.store, warnings, name };
}

const busOf = async ({ store }: BusNode) => (await store.health("")).bus;
const until = (state: string, node: BusNode) =>
  expect.poll(() => busOf(node), { timeout: 10_000, interval: 10 }).toBe(state);
const revisionOf = async ({ store }: BusNode, tenant: string) =>
  (await store.snapshot(tenant)).snapshot.revision;

/** Measures how long a revision took to arrive. Reads only memory, like an evaluation. */
async function arrival(node: BusNode, tenant: string, revision: number): Promise<number> {
  const startedAt = performance.now();
  while ((await revisionOf(node, tenant)) < revision) {
    if (performance.now() - startedAt > 10_000) throw new Error(`Revision ${revision} did not arrive.`);
    await sleep(1);
  }
  return performance.now() - startedAt;
}

async function cutBus({ name }: BusNode): Promise<number> {
  const { database, close } = db.connect();
  const { rowCount } = await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and query ilike 'listen%'",
    [name],
  );
  await close();
  return rowCount ?? 0;
}

describe("while the bus is up", () => {
  test("a change reaches the other process before its next poll", async () => {
    const tenant = fresh("tenant");
    const [writer, reader] = [await openNode(), await openNode()];
    await until("up", writer);
    await until("up", reader);
    const flag = await writer.store.createFlag(by(tenant), flagInput());
    const delays: number[] = [];
    await revisionOf(reader, tenant);
    for (let round = 0; round < 100; round++) {
      await writer.store.updateFlag(by(tenant), flag.id, { name: `n${round}` });
      delays.push(await arrival(reader, tenant, round + 2));
    }
    delays.sort((a, b) => a - b);
    // Without the bus it would be a second, after which a read has flags checked. The long suite looks at the slowest,
    // on a machine that does nothing else.
    expect(delays[50]).toBeLessThan(500);
    expect(reader.warnings).toEqual([]);
  }, 60_000);

  test("many consecutive changes arrive, and the last one is served", async () => {
    const tenant = fresh("tenant");
    const [writer, reader] = [await openNode(), await openNode()];
    await until("up", reader);
    await writer.store.createFlag(by(tenant), flagInput());
    await revisionOf(reader, tenant);
    await Promise.all(Array.from({ length: 30 }, () => writer.store.createFlag(by(tenant), flagInput())));
    await arrival(reader, tenant, 31);
  });

  test("an invalid message, or one with a revision that does not exist, has no effect", async () => {
    const tenant = fresh("tenant");
    const [writer, reader] = [await openNode(), await openNode()];
    await until("up", reader);
    await writer.store.createFlag(by(tenant), flagInput());
    await revisionOf(reader, tenant);
    const { database, close } = db.connect();
    const impossible = [9007199254740991, -1, 1.5, "2", null].map((revision) => [[tenant, revision]]);
    const strange = ["", "x", "[", "[]", "[[]]", "[null]", "{", '{"a":1}'];
    for (const message of [...strange, ...impossible.map((changes) => JSON.stringify(changes))]) {
      await database.query("select pg_notify('halyard_flag_' || md5(current_schema()), $1)", [message]);
    }
    await close();
    await writer.store.createFlag(by(tenant), flagInput());
    await arrival(reader, tenant, 2);
    expect(await reader.store.snapshot(tenant)).toMatchObject({ stale: false });
    expect(reader.warnings).toEqual([]);
  });

  test("an application in another schema gets no notifications", async () => {
    const tenant = fresh("tenant");
    const { database, close } = db.connect();
    await database.query("create schema another_app");
    await close();
    const [writer, stranger] = [await openNode(), await openNode({ schema: "another_app" })];
    await until("up", writer);
    await until("up", stranger);
    await writer.store.createFlag(by(tenant), flagInput());
    await revisionOf(stranger, tenant);
    await writer.store.createFlag(by(tenant), flagInput());
    await sleep(300);
    expect(await revisionOf(stranger, tenant)).toBe(1);
  });
});

describe("when the bus is cut", () => {
  test("health reports it, the bus reconnects, and missed changes are read immediately", async () => {
    const tenant = fresh("tenant");
    const [writer, reader] = [await openNode(), await openNode()];
    await until("up", writer);
    await until("up", reader);
    await writer.store.createFlag(by(tenant), flagInput());
    await revisionOf(reader, tenant);
    for (let round = 0; round < 3; round++) {
      const written = writer.store.createFlag(by(tenant), flagInput());
      expect(await cutBus(reader)).toBe(1);
      await written;
      // Once per outage. Before it is noticed, the bus still looks as if it were up.
      await expect.poll(() => reader.warnings, { timeout: 10_000, interval: 10 }).toHaveLength(round + 1);
      await arrival(reader, tenant, round + 2);
      await until("up", reader);
    }
    expect(reader.warnings).toHaveLength(3);
  });

  test("changes arrive by polling, on time", async () => {
    const tenant = fresh("tenant");
    const writer = await openNode();
    const reader = await openNode({ pollMs: 50, isCut: true });
    await writer.store.createFlag(by(tenant), flagInput());
    await revisionOf(reader, tenant);
    for (let revision = 2; revision < 12; revision++) {
      await writer.store.createFlag(by(tenant), flagInput());
      expect(await arrival(reader, tenant, revision)).toBeLessThan(5000);
    }
    expect(await busOf(reader)).toBe("down");
    expect(await reader.store.snapshot(tenant)).toMatchObject({ stale: false });
    expect(reader.warnings).toHaveLength(1);
  });
});

test("without polling a process does not listen, but still notifies others", async () => {
  const tenant = fresh("tenant");
  const [writer, reader] = [await openNode({ pollMs: 0 }), await openNode()];
  await until("up", reader);
  expect(await busOf(writer)).toBe("off");
  await writer.store.createFlag(by(tenant), flagInput());
  await revisionOf(reader, tenant);
  await writer.store.createFlag(by(tenant), flagInput());
  await arrival(reader, tenant, 2);
});
