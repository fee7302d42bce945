/** Many sessions change at once in three processes, while connections open and the bus is cut. */
import { createPostgresDatabase, createRedisPrefix, sized, spawnProgram } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { getMigrations } from "better-auth/db/migration";
import { Pool } from "pg";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { BASE_URL, stormOptions } from "../fixtures/session-storm/auth.ts";

const PROCESSES = 3;
const USERS = sized(2500, 40);
/** Every fifth user keeps the session as it is. */
const UNTOUCHED = 5;
const CONCURRENCY = 16;
/** The promises, in ms. They say something about the code only where nothing else runs. */
const P99_MS = sized(250, 5000);
const MAX_MS = sized(1000, 5000);
const PASSWORD = "correct horse battery";

type Kind = "sign-out" | "revoke" | "ban" | "role" | "remove" | "none";
const KINDS: readonly Kind[] = ["sign-out", "revoke", "ban", "role", "remove"];

interface Connection {
  readonly socket: WebSocket;
  lastCanaryAt: number;
  closeCode: number | undefined;
  reason: string;
}

interface User {
  readonly id: string;
  readonly token: string;
  readonly cookie: string;
  readonly kind: Kind;
  readonly connections: Connection[];
  changedAt: number;
}

async function startProcesses() {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const redis = await createRedisPrefix();
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  await (await getMigrations(stormOptions(pool))).runMigrations();
  const programs = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) =>
      spawnProgram({
        command: process.execPath,
        args: [
          "--conditions=@halyard/source",
          new URL("../fixtures/session-storm/server.ts", import.meta.url).pathname,
        ],
        readyTimeoutMs: 180_000,
        env: {
          DATABASE_URL: url,
          REDIS_URL: redis.url,
          PREFIX: redis.prefix,
          PUBLISHES: index === 0 ? "1" : "0",
        },
      }),
    ),
  );
  for (const { kill } of programs) onTestFinished(kill);
  const control = await createClient({ url: redis.url })
    .on("error", () => {})
    .connect();
  onTestFinished(() => control.destroy());
  return {
    pool,
    ports: programs.map(({ port }) => port),
    /** Ends the subscribing connections of the processes. */
    async cutBus() {
      const list = String(await control.sendCommand(["CLIENT", "LIST", "TYPE", "pubsub"]));
      for (const line of list.split("\n").filter((text) => text.includes(` name=${redis.prefix} `)))
        await control.sendCommand(["CLIENT", "KILL", "ID", /^id=(\d+)/.exec(line)?.[1] ?? ""]);
    },
  };
}

async function post(port: number, path: string, body: object, cookie = "") {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: BASE_URL, ...(cookie && { cookie }) },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} returned ${response.status} ${text}`);
  const pairs = response.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
  return { json: JSON.parse(text), cookie: pairs.filter((pair) => !pair.endsWith("=")).join("; ") };
}

function open(port: number, { cookie }: { readonly cookie: string }): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, ["halyard.v1.json"], {
    headers: { cookie },
    origin: `http://127.0.0.1:${port}`,
  });
  const connection: Connection = { socket, lastCanaryAt: 0, closeCode: undefined, reason: "" };
  onTestFinished(() => socket.terminate());
  socket.on("error", () => {});
  socket.on("message", (data) => {
    if (String(data).startsWith('{"type":"CANARY"')) connection.lastCanaryAt = Date.now();
  });
  socket.on("close", (code, reason) => {
    connection.closeCode = code;
    connection.reason = String(reason);
  });
  return new Promise((resolve) => {
    socket.once("message", () => resolve(connection));
    socket.once("close", () => resolve(connection));
  });
}

/** A connection that was being opened may be refused with 1013, when the store is too busy: it has received nothing. */
function hasEnded({ closeCode, lastCanaryAt }: Connection): boolean {
  return closeCode === 4401 || (closeCode === 1013 && lastCanaryAt === 0);
}

function describe({ closeCode, reason, lastCanaryAt }: Connection): object {
  return { closeCode, reason, lastCanaryAt };
}

/** Runs the work of all items, some at a time. */
async function each<Item>(items: readonly Item[], work: (item: Item, index: number) => Promise<void>) {
  let next = 0;
  const run = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as Item, at);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
}

test("no connection receives a frame long after its session changed, in any process", async () => {
  const { pool, ports, cutBus } = await startProcesses();
  const portOf = (index: number): number => ports[index % ports.length] ?? 0;
  const signUp = (name: string) =>
    post(portOf(0), "/sign-up/email", { name, email: `${name}@example.com`, password: PASSWORD });
  const root = await signUp("root");
  await pool.query(`update "user" set role = 'admin' where id = $1`, [root.json.user.id]);
  const users: User[] = [];
  await each(Array.from({ length: USERS }), async (_, index) => {
    const { json, cookie } = await signUp(`user-${index}`);
    const kind =
      index % UNTOUCHED === 0
        ? "none"
        : (KINDS[(index + Math.floor(index / UNTOUCHED)) % KINDS.length] ?? "none");
    const user: User = { id: json.user.id, token: json.token, cookie, kind, connections: [], changedAt: 0 };
    user.connections.push(await open(portOf(index), user), await open(portOf(index + 1), user));
    users.push(user);
  });
  const changed = users.filter(({ kind }) => kind !== "none");
  const change = (user: User, index: number): Promise<unknown> => {
    const port = portOf(index + 2);
    switch (user.kind) {
      case "sign-out":
        return post(port, "/sign-out", {}, user.cookie);
      case "revoke":
        return post(port, "/admin/revoke-user-session", { sessionToken: user.token }, root.cookie);
      case "ban":
        return post(port, "/admin/ban-user", { userId: user.id }, root.cookie);
      case "role":
        return post(port, "/admin/set-role", { userId: user.id, role: "blocked" }, root.cookie);
      default:
        return post(port, "/admin/remove-user", { userId: user.id }, root.cookie);
    }
  };
  await each(changed, async (user, index) => {
    // A third of the users open another connection while the change is made.
    const opening = index % 3 === 0 ? open(portOf(index + 1), user) : undefined;
    await change(user, index);
    user.changedAt = Date.now();
    if (opening !== undefined) user.connections.push(await opening);
    if (index === Math.floor(changed.length / 2)) await cutBus();
  });
  await new Promise((resolve) => setTimeout(resolve, MAX_MS + 500));

  const lateness = changed.flatMap(({ connections, changedAt }) =>
    connections.map(({ lastCanaryAt }) => Math.max(0, lastCanaryAt - changedAt)),
  );
  lateness.sort((one, other) => one - other);
  console.log(`The last canary arrived after the change: longest ${lateness.at(-1)} ms.`);
  const p99 = lateness[Math.ceil(lateness.length * 0.99) - 1] ?? 0;
  const max = lateness.at(-1) ?? 0;
  const ended = changed.filter(({ kind }) => kind !== "role").flatMap(({ connections }) => connections);
  expect(ended.filter((connection) => !hasEnded(connection)).map(describe)).toEqual([]);
  const blocked = changed.filter(({ kind }) => kind === "role").flatMap(({ connections }) => connections);
  expect(blocked.filter(({ closeCode }) => closeCode !== undefined).map(describe)).toEqual([]);
  const untouched = users.filter(({ kind }) => kind === "none").flatMap(({ connections }) => connections);
  expect(untouched.filter(({ closeCode }) => closeCode !== undefined).map(describe)).toEqual([]);
  const now = Date.now();
  expect(untouched.filter(({ lastCanaryAt }) => now - lastCanaryAt > 5000).map(describe)).toEqual([]);
  expect([p99 <= P99_MS, max <= MAX_MS]).toEqual([true, true]);
  recordEvidence("session-storm", {
    what: "Three processes with Better Auth and a router each, on one PostgreSQL and one Redis. Sessions are signed out, revoked, banned, removed or lose a role at random processes, while further connections open and the subscriptions of the bus are cut once.",
    size: `${users.length * 2} connections, ${changed.length} changes, one canary to all of them every 25 ms.`,
    checked:
      "Each connection's last canary was compared with the time at which its change was acknowledged. Ended sessions were closed with 4401, blocked ones lost the topic, untouched ones kept receiving.",
    suite: "packages/wire/test/long/session-storm.long.test.ts",
    figures: { "all processes": { "p99, ms": p99, "longest, ms": max } },
  });
});
