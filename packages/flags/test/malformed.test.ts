/** Checks that malformed requests are refused without side effects, on every database. `long/malformed.long.test.ts` sends more. */
import { expect, test } from "vitest";
import { type FreshDatabase, freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";
import { type HostOptions, startHost } from "./host.ts";
import { sendMalformed } from "./malformed.ts";

const REFUSALS = 300;

/** Databases differ in what they refuse: NUL, half a surrogate pair, long text. */
const DATABASES: readonly (readonly [string, () => Promise<FreshDatabase<HostOptions["database"]>>])[] = [
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
  ["MariaDB", freshMariadb],
];

const title = `${REFUSALS} malformed requests on %s get 4xx, never 5xx, and the service answers on`;

test.each(DATABASES)(title, { timeout: 120_000 }, async (_name, open) => {
  const { connect, drop } = await open();
  const { database, close } = connect();
  const host = await startHost({ database });
  try {
    const admin = await host.person("admin", "admin");
    const seed = Number(process.env["HALYARD_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
    const { refused, accepted } = await sendMalformed(host, admin, REFUSALS, seed);
    expect(refused).toBe(REFUSALS);
    // Most requests must be refused, or this test would check valid requests.
    expect(accepted).toBeLessThan(refused);
    expect((await host.evaluate({ flagKey: "k" })).status).toBe(200);
  } finally {
    await host.close();
    await close();
    await drop();
  }
});
