/** Announcements between processes, on each bus. */
import { createPostgresDatabase, createRedisPrefix } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { connectSessions, findCaller, followCaller, type SessionBus } from "@halyard/sessions";
import { postgresSessionBus } from "@halyard/sessions/postgres";
import { redisSessionBus } from "@halyard/sessions/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { sessionsOf } from "../src/identify/sessions.ts";
import { createStore, startAuth } from "./host.ts";

/** Ends a test that hangs. Without the comparison, only the bus can tell what is found. */
const FOUND = { timeout: 20_000, interval: 10 };

interface BusUnderTest {
  /** A bus of another process. */
  connect(): Promise<SessionBus>;
  /** Ends the connections of all processes to the server. */
  cut(): Promise<void>;
}

/** Ends the subscribing connections of this test only: other tests use the same server. */
async function cutSubscribers(name: string, run: (command: string, ...values: string[]) => Promise<unknown>) {
  const list = String(await run("CLIENT", "LIST", "TYPE", "pubsub"));
  for (const line of list.split("\n").filter((text) => text.includes(` name=${name} `))) {
    await run("CLIENT", "KILL", "ID", /^id=(\d+)/.exec(line)?.[1] ?? "");
  }
}

const BUSES: readonly { name: string; start(): Promise<BusUnderTest> }[] = [
  {
    name: "PostgreSQL",
    async start() {
      const { url, drop } = await createPostgresDatabase();
      onTestFinished(drop);
      const open = () => {
        const pool = openPool({ connectionString: url, max: 3 });
        onTestFinished(() => pool.end());
        return pool;
      };
      const other = open();
      return {
        connect: async () => postgresSessionBus(open()),
        async cut() {
          await other.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
          );
        },
      };
    },
  },
  {
    name: "Redis, with redis",
    async start() {
      const { url, prefix } = await createRedisPrefix();
      const open = async () => {
        const client = await createClient({ url, name: prefix, socket: { reconnectStrategy: 20 } })
          .on("error", () => {})
          .connect();
        onTestFinished(() => client.destroy());
        return client;
      };
      const other = await open();
      return {
        connect: async () => redisSessionBus(await open(), { channel: `${prefix}:sessions` }),
        async cut() {
          await cutSubscribers(prefix, (...command) => other.sendCommand(command));
        },
      };
    },
  },
  {
    name: "Redis, with ioredis",
    async start() {
      const { url, prefix } = await createRedisPrefix();
      const open = () => {
        const client = new Redis(url, { connectionName: prefix, retryStrategy: () => 20 });
        client.on("error", () => {});
        onTestFinished(() => client.disconnect());
        return client;
      };
      const other = open();
      return {
        connect: async () => redisSessionBus(open(), { channel: `${prefix}:sessions` }),
        async cut() {
          await cutSubscribers(prefix, (command, ...values) => other.call(command, ...values));
        },
      };
    },
  },
];

describe.each(BUSES)("over $name", ({ start }) => {
  async function setUp() {
    const bus = await start();
    const store = await createStore({ database: "sqlite", storage: false });
    const [here, there] = [await startAuth(store), await startAuth(store)];
    for (const { auth } of [here, there]) {
      onTestFinished(await connectSessions(auth, await bus.connect()));
    }
    const follow = async (name: string) => {
      const person = await here.person(name);
      const caller = await findCaller(there.auth, { headers: there.headers(person) });
      if (caller === undefined) throw new Error("The session was not found.");
      const seen: unknown[] = [];
      onTestFinished(
        await followCaller(there.auth, caller, {
          changed: ({ changed }) => seen.push(changed),
          ended: (reason) => seen.push(reason),
        }),
      );
      (await sessionsOf(there.auth)).reconciliation.stop();
      return { person, seen };
    };
    return { bus, here, follow };
  }

  test("a sign-out and an update in one process reach another at once", async () => {
    const { here, follow } = await setUp();
    const [ann, bob] = [await follow("ann"), await follow("bob")];
    await vi.waitFor(async () => {
      await here.call("/update-user", { as: bob.person, body: { name: `Bob ${Math.random()}` } });
      expect(bob.seen.length).toBeGreaterThan(0);
    }, FOUND);
    await here.call("/sign-out", { as: ann.person });
    await vi.waitFor(() => expect(ann.seen).toEqual(["ended"]), FOUND);
  });

  test("a change while the bus is cut is found when it is connected again", async () => {
    const { bus, here, follow } = await setUp();
    const ann = await follow("ann");
    await vi.waitFor(async () => {
      await here.call("/update-user", { as: ann.person, body: { name: `Ann ${Math.random()}` } });
      expect(ann.seen.length).toBeGreaterThan(0);
    }, FOUND);
    await bus.cut();
    await here.call("/sign-out", { as: ann.person });
    await vi.waitFor(() => expect(ann.seen.at(-1)).toBe("ended"), FOUND);
  });
});

test("a message that other software publishes changes nothing", async () => {
  const store = await createStore({ database: "sqlite", storage: false });
  const host = await startAuth(store);
  let receive: (message: string) => void = () => undefined;
  const bus: SessionBus = {
    publish: async () => {},
    subscribe: ({ received }) => {
      receive = received;
      return () => undefined;
    },
  };
  onTestFinished(await connectSessions(host.auth, bus));
  const person = await host.person("ann");
  const read = vi.spyOn((await host.auth.$context).adapter, "findMany");
  await findCaller(host.auth, { headers: host.headers(person) });
  read.mockClear();
  for (const message of ["", "no json", "[]", "{}", '{"from":"x","changes":[{"kind":"session","id":"a"}]}'])
    receive(message);
  receive(
    JSON.stringify({ from: "x", changes: [{ kind: "user", id: "y".repeat(300) }, { kind: "user" }, null] }),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(read).not.toHaveBeenCalled();
});
