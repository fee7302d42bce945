import { closeFeatureFlags, type EventSink } from "@halyard/flags";
import { openPool } from "@halyard/services/postgres-pool";
import { createWorld, type World } from "../http/world.ts";
import { median } from "../judge.ts";
import { type Effort, type Finding, isSmoke, type Measurement } from "../measurement.ts";
import { createAuth } from "../servers/flags/auth.ts";
import { keys } from "../servers/flags/flags.ts";
import { formatTable, type Table } from "../table.ts";

/** What is stored, and the table that holds it. */
const STORED = [
  ["an event", "halyard_flag_event"],
  ["an idempotency key", "halyard_flag_key"],
  ["an exposure", "halyard_flag_exposure"],
  ["an event that waits for a sink", "halyard_flag_outbox"],
] as const;
const [[EVENT]] = STORED;

const PEOPLE = 1_000;
const EVENTS = 10_000;
const BATCH = 100;
/** Flags whose exposure each user causes. */
const SHOWN = 2;

/** Events stay in the outbox while their sink is down. */
const down: EventSink = { name: "down", deliver: () => Promise.reject(new Error("The sink is down.")) };

/** The sizing pages multiply these bytes by the number of events. */
export const measurement: Measurement = {
  name: "event-size",
  about:
    "10,000 events with a user, a value, two properties and an idempotency key in PostgreSQL, with the option postgres: bytes of a row with its indexes",
  goal: { atMost: 500, unit: "bytes" },
  async run(effort) {
    const world = await createWorld(isSmoke(effort) ? PEOPLE / 100 : PEOPLE);
    try {
      const rounds: Map<string, number>[] = [];
      while (rounds.length < effort.rounds) {
        rounds.push(await measure(world, effort));
        effort.onRound(rounds.length);
      }
      return describe(rounds);
    } finally {
      await world.close();
    }
  },
};

/** Bytes of a row of each table, with its indexes. */
async function measure(world: World, effort: Effort): Promise<Map<string, number>> {
  const pool = openPool({ connectionString: world.databaseUrl, max: 1 });
  try {
    for (const [, table] of STORED) await pool.query(`truncate ${table}`);
    await store(world, isSmoke(effort) ? EVENTS / 100 : EVENTS);
    const bytes = new Map<string, number>();
    for (const [name, table] of STORED) {
      const { rows } = await pool.query<{ bytes: string }>(
        `select pg_total_relation_size('${table}')::float8 / count(*) as bytes from ${table}`,
      );
      bytes.set(name, Number(rows[0]?.bytes));
    }
    return bytes;
  } finally {
    await pool.end();
  }
}

async function store({ databaseUrl, people }: World, events: number): Promise<void> {
  const { auth, pool } = createAuth(databaseUrl, { isQuiet: true, sinks: [down] });
  try {
    for (let at = 0; at < events; at += BATCH) {
      const { failed } = await auth.api.createFeatureFlagEventBatch({
        body: { events: Array.from({ length: BATCH }, (_, index) => eventOf(at + index, people)) },
      });
      if (failed > 0) throw new Error(`${failed} of ${BATCH} events were refused.`);
    }
    for (const { id, attributes } of people) {
      for (const flagKey of keys.slice(0, SHOWN)) {
        await auth.api.evaluateFeatureFlag({
          body: { flagKey, context: { userId: id, attributes }, track: true },
        });
      }
    }
  } finally {
    // Writes what waits in memory.
    await closeFeatureFlags(auth);
    await pool.end();
  }
}

function eventOf(index: number, people: World["people"]) {
  const { id = "" } = people[index % people.length] ?? {};
  return {
    flagKey: keys[index % keys.length] ?? "",
    event: "purchase",
    value: index % 100,
    properties: { page: "/checkout", items: 3 },
    context: { userId: id },
    idempotencyKey: `order-${index}`,
  };
}

function describe(rounds: readonly ReadonlyMap<string, number>[]): Finding {
  const of = (name: string): number[] => rounds.map((bytes) => bytes.get(name) ?? Number.NaN);
  const table: Table = [
    ["median of rounds", "bytes a row", "rounds"],
    ...STORED.map(([name]) => [name, median(of(name)).toFixed(0), String(rounds.length)]),
  ];
  return {
    figures: of(EVENT),
    report: formatTable(table),
    table,
    doubts: [],
    chart: {
      title: "Bytes of a row with its indexes (shorter is better)",
      bars: STORED.map(([name]) => ({ name, role: "ours", value: median(of(name)) })),
    },
    rivals: [],
  };
}
