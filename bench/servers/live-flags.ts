/**
 * An application with live flags on Node or Bun, and the bare engine on the same sockets. Arguments: users, other flags,
 * flags that use the segment. `POST /kill` turns the flag off or on, `POST /bare` sends the frames of the last change again
 * with the engine alone, `POST /segment` changes the segment. Each responds when all of it is written.
 */
import { featureFlags } from "@halyard/flags";
import { liveFlags } from "@halyard/flags/live";
import { createRouter } from "@halyard/wire";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { bearer } from "better-auth/plugins";
import { type Engine, openDatabase, startEngine } from "./live-flags/engine.ts";

const [users = 1, otherFlags = 0, segmentFlags = 0] = process.argv.slice(2).map(Number);
/** 20 characters. */
const KEY = "checkout-kill-switch";
const DAY_MS = 86_400_000;

const database = await openDatabase();
/** When the last change was committed, in ms since epoch. */
let committedAtMs = 0;
const now = (): number => performance.timeOrigin + performance.now();
const options = {
  baseURL: "http://flags.example",
  secret: "a secret that is only good enough for benches, which is all it does",
  database: database as NonNullable<BetterAuthOptions["database"]>,
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: "warn" },
  plugins: [
    bearer(),
    featureFlags({
      onAuditHead() {
        committedAtMs = now();
      },
    }),
  ],
} satisfies BetterAuthOptions;
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const { api } = auth;

// A day old, as most sessions of an application are: sessions that changed a moment ago are read by value.
const changedAt = new Date(Date.now() - DAY_MS).toISOString();
const expiresAt = new Date(Date.now() + 7 * DAY_MS).toISOString();
const NUMBERS = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)";
database
  .prepare(
    `insert into "user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
     ${NUMBERS} select 'user-' || i, 'User', 'user-' || i || '@flags.example', 1, ?, ? from n`,
  )
  .run(users, changedAt, changedAt);
database
  .prepare(
    `insert into "session" ("id", "token", "userId", "expiresAt", "createdAt", "updatedAt")
     ${NUMBERS} select 'session-' || i, 'token-' || printf('%026d', i), 'user-' || i, ?, ?, ? from n`,
  )
  .run(users, expiresAt, changedAt, changedAt);

const boolean = { name: "N", type: "boolean" as const, enabled: true, defaultValue: true, offValue: false };
const { id } = await api.createFeatureFlag({ body: { ...boolean, key: KEY } });
// Off for these users in any case, so that the switch does not concern them.
await api.createFeatureFlagRule({
  body: {
    flagId: id,
    priority: 1,
    value: false,
    conditions: { conditions: [{ attribute: "plan", operator: "equals", value: "free" }] },
  },
});
for (let at = 0; at < otherFlags; at++)
  await api.createFeatureFlag({ body: { ...boolean, key: `other-${at}` } });
const conditionsFor = (userId: string) => ({
  conditions: [{ attribute: "userId", operator: "equals" as const, value: userId }],
});
const segment = await api.createFeatureFlagSegment({
  body: { key: "segment", conditions: conditionsFor("nobody") },
});
for (let at = 0; at < segmentFlags; at++) {
  const flag = await api.createFeatureFlag({ body: { ...boolean, key: `in-segment-${at}` } });
  await api.createFeatureFlagRule({
    body: {
      flagId: flag.id,
      priority: 1,
      value: false,
      conditions: { conditions: [{ segment: "segment" }] },
    },
  });
}

const router = createRouter<SessionData>();
const live = liveFlags(router, auth);
const engine: Engine = await startEngine(router, betterAuthSession(auth), control);
console.log(JSON.stringify({ port: engine.port }));

/** The frames of the last change, by socket. */
let frames: ReadonlyMap<object, string> = new Map();
let isOn = true;
let member = "nobody";

async function control(path: string, count: number): Promise<object> {
  if (path === "/bare") return timed(() => engine.sendBare(frames));
  if (path === "/segment") return changeSegment();
  if (path !== "/kill") return { subscribers: live.size };
  isOn = !isOn;
  const written = engine.recordNext(count);
  const cpu = process.cpuUsage();
  await api.updateFeatureFlag({ body: { id, enabled: isOn } });
  frames = await written;
  const wallMs = now() - committedAtMs;
  return { wallMs, cpuMs: cpuMsSince(cpu), startedAtMs: committedAtMs };
}

async function timed(work: () => Promise<void>): Promise<object> {
  const cpu = process.cpuUsage();
  const startedAtMs = now();
  await work();
  return { wallMs: now() - startedAtMs, cpuMs: cpuMsSince(cpu), startedAtMs };
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The longest time in which no timer could run, while all sessions are evaluated. */
async function changeSegment(): Promise<object> {
  let lagMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    lagMs = Math.max(lagMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 1);
  member = member === "nobody" ? "user-1" : "nobody";
  const result = await timed(async () => {
    await api.updateFeatureFlagSegment({
      params: { id: segment.id },
      body: { conditions: conditionsFor(member) },
    });
    while ((await waiting()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  });
  clearInterval(timer);
  return { ...result, lagMs };
}

/** Subscribed connections whose values are not evaluated yet. */
async function waiting(): Promise<number> {
  const text = await api.getFeatureFlagsMetrics();
  return Number(/^halyard_flags_live_waiting(?:\{.*\})? (\d+)/m.exec(String(text))?.[1] ?? Number.NaN);
}
