/** Freezes a process at random moments of its writes, and measures how long the switches of other processes wait. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { counterOf } from "../src/store/writes/revision.ts";
import { by, flagInput, fresh, openStoreHost } from "./contract/store-host.ts";
import { openTcpProxy } from "./contract/tcp-proxy.ts";
import { freshPostgres } from "./databases.ts";
import { createRandom } from "./engine/random.ts";

export interface FrozenWrites {
  readonly changes: number;
  readonly acknowledged: number;
  /** Changes that were answered with 503. */
  readonly refused: number;
  /** Changes whose outcome the process could not know. */
  readonly unknown: number;
  /** Freezes at which the process had a transaction open. */
  readonly frozenInside: { stop: number; network: number };
  /** The longest that a switch took while a process was frozen. */
  readonly longestMs: { sameTenant: number; sameCounter: number; otherCounter: number };
  readonly acknowledgedAndLost: string[];
  readonly refusedAndCommitted: string[];
  readonly committedTwice: string[];
  readonly verdict: string;
  /** Whether the process ended by itself. */
  readonly hasEnded: boolean;
}

/** What a run must have found. */
export const WHOLE: Partial<FrozenWrites> = {
  acknowledgedAndLost: [],
  refusedAndCommitted: [],
  committedTwice: [],
  verdict: "complete",
  hasEnded: false,
};

const WRITER = fileURLToPath(new URL("fixtures/frozen-writer.ts", import.meta.url));
/** So that most freezes happen inside a transaction. */
const ROUND_TRIP_MS = 8;
const APPLICATION = "frozen-writer";
const ALIVE_MS = 20_000;

export async function runFreezes({
  freezes,
  seed,
}: {
  freezes: number;
  seed: number;
}): Promise<FrozenWrites> {
  const random = createRandom(seed);
  const db = await freshPostgres();
  const host = await openStoreHost({ open: async () => db, isAskedDirectly: true });
  const line = await openTcpProxy(db.url, { roundTripMs: ROUND_TRIP_MS });
  const observer = new Client({ connectionString: db.url });
  await observer.connect();
  const { store } = host;

  const tenants = { sameTenant: fresh("tenant"), sameCounter: "", otherCounter: "" };
  const isSame = (tenant: string) => counterOf(tenant) === counterOf(tenants.sameTenant);
  while (tenants.sameCounter === "" || tenants.otherCounter === "") {
    const tenant = fresh("tenant");
    tenants[isSame(tenant) ? "sameCounter" : "otherCounter"] ||= tenant;
  }
  const switches = [];
  for (const [which, tenant] of Object.entries(tenants)) {
    const { id } = await store.createFlag(by(tenant), flagInput());
    switches.push({ which: which as keyof typeof tenants, tenant, id });
  }
  const target = await store.createFlag(by(tenants.sameTenant), flagInput());

  const url = new URL(line.url);
  url.searchParams.set("application_name", APPLICATION);
  const child = spawn(
    process.execPath,
    ["--conditions=@halyard/source", WRITER, url.href, tenants.sameTenant, target.id],
    { env: { ...process.env, NODE_OPTIONS: undefined }, stdio: ["pipe", "pipe", "inherit"] },
  );
  const outcomes = new Map<string, string>();
  let acknowledged = 0;
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const printed of lines) {
      const [outcome = "", ...description] = printed.split(" ");
      outcomes.set(description.join(" "), outcome);
      if (outcome === "ok") acknowledged += 1;
    }
  });
  const goesOn = async () => {
    const before = acknowledged;
    for (let waitedMs = 0; acknowledged === before && waitedMs < ALIVE_MS; waitedMs += 10) await sleep(10);
    return acknowledged > before;
  };

  const frozenInside = { stop: 0, network: 0 };
  const longestMs = { sameTenant: 0, sameCounter: 0, otherCounter: 0 };
  let enabled = false;
  let isAlive = await goesOn();
  try {
    for (let freeze = 0; freeze < freezes && isAlive; freeze++) {
      const how = freeze % 2 === 0 ? "stop" : "network";
      await sleep(random.next() * 300);
      if (how === "stop") process.kill(child.pid ?? 0, "SIGSTOP");
      else line.hold();
      const { rows } = await observer.query(
        "select 1 from pg_stat_activity where application_name = $1 and xact_start is not null",
        [APPLICATION],
      );
      if (rows.length > 0) frozenInside[how] += 1;
      enabled = !enabled;
      await Promise.all(
        switches.map(async ({ which, tenant, id }) => {
          const startedAtMs = performance.now();
          await store.updateFlag(by(tenant), id, { enabled });
          longestMs[which] = Math.max(longestMs[which], Math.round(performance.now() - startedAtMs));
        }),
      );
      if (how === "stop") process.kill(child.pid ?? 0, "SIGCONT");
      else line.restore();
      isAlive = await goesOn();
    }
    const hasEnded = child.exitCode !== null || child.signalCode !== null || !isAlive;
    child.stdin.end();
    if (!hasEnded) await once(child, "exit");
    const committed = new Map<string, number>();
    for (let after = 0; ; ) {
      const entries = await store.readAudit(tenants.sameTenant, { after, limit: 500 });
      for (const { entityId, after: entity } of entries) {
        const text = entityId === target.id && entity !== null && "description" in Object(entity);
        const description = text ? String(Object(entity).description) : "";
        committed.set(description, (committed.get(description) ?? 0) + 1);
      }
      const last = entries.at(-1);
      if (last === undefined) break;
      after = last.revision;
    }
    const named = (outcome: string) => [...outcomes].filter(([, is]) => is === outcome).map(([name]) => name);
    const verdict = await store.verifyAudit(tenants.sameTenant);
    return {
      changes: outcomes.size,
      acknowledged: named("ok").length,
      refused: named("refused").length,
      unknown: named("unknown").length,
      frozenInside,
      longestMs,
      acknowledgedAndLost: named("ok").filter((name) => !committed.has(name)),
      refusedAndCommitted: named("refused").filter((name) => committed.has(name)),
      committedTwice: [...outcomes.keys()].filter((name) => (committed.get(name) ?? 0) > 1),
      verdict: verdict.ok ? "complete" : verdict.problem,
      hasEnded,
    };
  } finally {
    child.kill("SIGKILL");
    await line.close();
    await observer.end();
    await host.close();
  }
}
