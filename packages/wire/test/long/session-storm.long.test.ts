/** Many sessions change at once, while connections open, canaries are published and the bus is cut. */
import { sized } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { CANARY_EVERY_MS, type Cluster, startCluster } from "../fixtures/session-storm/cluster.ts";

const USERS = sized(2500, 40);
/** Every fifth user keeps the session as it is. */
const UNTOUCHED = 5;
/** Users whose sessions change at the same time. Most of them wait for a canary that must not arrive. */
const CONCURRENCY = sized(200, 16);
/** The promises, in ms. They say something about the code only where nothing else runs. */
const P99_MS = sized(250, 5000);
const MAX_MS = sized(1000, 5000);
/** The comparison with the session store finds what the bus did not carry. */
const FLOOR_MS = 5000;
const BUS_CUTS = sized(5, 1);

type Ending = "sign-out" | "revoke" | "ban" | "remove" | "block";
const ENDINGS: readonly Ending[] = ["sign-out", "revoke", "ban", "remove", "block"];

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
  /** Undefined: the session stays as it is. */
  readonly ending: Ending | undefined;
  readonly connections: Connection[];
}

/** How long after the acknowledgement of a change its connections still received a canary, in ms. */
interface Sample {
  readonly changedAt: number;
  readonly lateMs: number;
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

function describeConnection({ closeCode, reason, lastCanaryAt }: Connection): object {
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

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Signs the users up, with two connections each. */
async function signUpAll({ signUp, portOf }: Cluster): Promise<User[]> {
  const users: User[] = [];
  await each(Array.from({ length: USERS }), async (_, index) => {
    const { id, token, cookie } = await signUp(`user-${index}`);
    const ending = ENDINGS[(index + Math.floor(index / UNTOUCHED)) % ENDINGS.length];
    const connections = await Promise.all([
      open(portOf(index), { cookie }),
      open(portOf(index + 1), { cookie }),
    ]);
    users.push({ id, token, cookie, ending: index % UNTOUCHED === 0 ? undefined : ending, connections });
  });
  return users;
}

/** Changes one session five times. The first two times, the session may receive canaries again afterwards. */
async function changeSession(cluster: Cluster, user: User, index: number): Promise<readonly Sample[]> {
  const { portOf, post, root, organizationId } = cluster;
  const port = portOf(index + 2);
  const setRole = (role: string) => post(port, "/admin/set-role", { userId: user.id, role }, root.cookie);
  const setActive = (to: string | null) =>
    post(port, "/organization/set-active", { organizationId: to }, user.cookie);
  const samples: Sample[] = [];

  /** The connections must not receive canaries once the change is acknowledged. */
  async function silence(change: () => Promise<unknown>): Promise<void> {
    await change();
    const changedAt = Date.now();
    await wait(MAX_MS + 500);
    for (const { lastCanaryAt } of user.connections)
      samples.push({ changedAt, lateMs: Math.max(0, lastCanaryAt - changedAt) });
  }

  /** Another process may learn of the change later than the caller, so the connections ask until they receive again. */
  async function restore(change: () => Promise<unknown>): Promise<void> {
    await change();
    const since = Date.now();
    const isBack = () => {
      const silent = user.connections.filter(({ lastCanaryAt }) => lastCanaryAt <= since);
      for (const { socket } of silent) socket.send('{"type":"LISTEN","meta":{}}');
      return silent.length === 0;
    };
    await expect.poll(isBack, { timeout: 20_000, interval: 2 * CANARY_EVERY_MS }).toBe(true);
  }

  await silence(() => setRole("blocked"));
  await restore(() => setRole("user"));
  await silence(() => setActive(organizationId));
  await restore(() => setActive(null));
  // A third of the users open another connection while the last change is made.
  const opening = index % 3 === 0 ? open(portOf(index + 1), user) : undefined;
  await silence(async () => {
    await endSession(cluster, user, port);
    if (opening !== undefined) user.connections.push(await opening);
  });
  return samples;
}

function endSession({ post, root }: Cluster, user: User, port: number): Promise<unknown> {
  switch (user.ending) {
    case "sign-out":
      return post(port, "/sign-out", {}, user.cookie);
    case "revoke":
      return post(port, "/admin/revoke-user-session", { sessionToken: user.token }, root.cookie);
    case "ban":
      return post(port, "/admin/ban-user", { userId: user.id }, root.cookie);
    case "remove":
      return post(port, "/admin/remove-user", { userId: user.id }, root.cookie);
    default:
      return post(port, "/admin/set-role", { userId: user.id, role: "blocked" }, root.cookie);
  }
}

test.each([
  { title: "in any of three processes with a bus", name: "session-storm", processes: 3 },
  { title: "in one process without a bus", name: "session-storm-alone", processes: 1 },
])("no connection receives a frame long after its session changed, $title", async ({ name, processes }) => {
  const cluster = await startCluster(processes);
  const users = await signUpAll(cluster);
  const changed = users.filter(({ ending }) => ending !== undefined);
  const cutsAt: number[] = [];
  const samples: Sample[] = [];
  let done = 0;
  await each(changed, async (user, index) => {
    samples.push(...(await changeSession(cluster, user, index)));
    done += 1;
    if (processes > 1 && done % Math.ceil(changed.length / (BUS_CUTS + 1)) === 0) {
      await cluster.cutBus();
      cutsAt.push(Date.now());
    }
  });

  const isDuringCut = ({ changedAt }: Sample) => cutsAt.some((at) => Math.abs(changedAt - at) < FLOOR_MS);
  const late = (list: readonly Sample[]) =>
    list.map(({ lateMs }) => lateMs).sort((one, other) => one - other);
  const whileUp = late(samples.filter((sample) => !isDuringCut(sample)));
  const whileCut = late(samples.filter(isDuringCut));
  const p99 = whileUp[Math.ceil(whileUp.length * 0.99) - 1] ?? 0;
  const max = whileUp.at(-1) ?? 0;
  const maxCut = whileCut.at(-1) ?? 0;
  console.log(`${samples.length} samples: p99 ${p99} ms, longest ${max} ms, near a cut ${maxCut} ms.`);
  const connectionsOf = (list: readonly User[]) => list.flatMap(({ connections }) => connections);
  const ended = connectionsOf(changed.filter(({ ending }) => ending !== "block"));
  expect(ended.filter((connection) => !hasEnded(connection)).map(describeConnection)).toEqual([]);
  const kept = connectionsOf(users.filter(({ ending }) => ending === undefined || ending === "block"));
  expect(kept.filter(({ closeCode }) => closeCode !== undefined).map(describeConnection)).toEqual([]);
  const untouched = connectionsOf(users.filter(({ ending }) => ending === undefined));
  const now = Date.now();
  expect(
    untouched.filter(({ lastCanaryAt }) => now - lastCanaryAt > FLOOR_MS).map(describeConnection),
  ).toEqual([]);
  expect(p99).toBeLessThanOrEqual(P99_MS);
  expect(max).toBeLessThanOrEqual(MAX_MS);
  expect(maxCut).toBeLessThanOrEqual(FLOOR_MS);
  recordEvidence(name, {
    what: `${processes === 1 ? "One process" : `${processes} processes`} with Better Auth and a router each, on one PostgreSQL${processes === 1 ? "" : " and one Redis"}. Each session loses a role and gets it back, switches the organization and back, and is then signed out, revoked, banned, removed or blocked, at random processes, while further connections open${processes === 1 ? "" : ` and the subscriptions of the bus are cut ${BUS_CUTS} times`}.`,
    size: `${users.length * 2} connections, ${changed.length * 5} changes, a canary to all connections every ${CANARY_EVERY_MS} ms.`,
    checked:
      "Each connection's last canary was compared with the time at which its change was acknowledged. Ended sessions were closed with 4401, blocked ones lost the topic, untouched ones kept receiving.",
    suite: "packages/wire/test/long/session-storm.long.test.ts",
    figures: { "after a change": { "p99, ms": p99, "longest, ms": max, "longest near a cut, ms": maxCut } },
  });
});
