/** Measures concurrent writes with If-Match: one wins, and without it no field is lost. */
import { recordEvidence } from "@halyard/services/evidence";
import { afterAll, describe, expect, test } from "vitest";
import type { RevisionRow } from "../../src/model/tables.ts";
import { createFlagStore } from "../../src/store/store.ts";
import type { Database } from "../contract/store-host.ts";
import { type FreshDatabase, freshMariadb, freshPostgres, freshSqlite } from "../databases.ts";
import { type Host, startHost } from "../host.ts";

const ROUNDS = 1_000;
const WRITERS = 50;

interface Setting {
  readonly name: string;
  readonly open: () => Promise<FreshDatabase<Database>>;
  /** SQLite's driver blocks the process while it waits for a lock, so two nodes in one process would deadlock. */
  readonly nodes: 1 | 2;
}

const SETTINGS: readonly Setting[] = [
  { name: "PostgreSQL", open: freshPostgres, nodes: 2 },
  { name: "MariaDB", open: freshMariadb, nodes: 2 },
  { name: "SQLite", open: freshSqlite, nodes: 1 },
];

const figures: Record<string, Record<string, number | string>> = {};

describe.each(SETTINGS)("writes at once on $name", ({ name, open, nodes }) => {
  test(`of ${WRITERS} PATCHes with the same If-Match one wins, ${ROUNDS} times over, and no field is lost without it`, {
    timeout: 3_600_000,
  }, async () => {
    const db = await open();
    const connections = Array.from({ length: nodes }, () => db.connect());
    const hosts: Host[] = [];
    try {
      for (const { database } of connections) {
        hosts.push(await startHost({ database, migrate: hosts.length === 0 }));
      }
      figures[name] = await run(hosts);
    } finally {
      for (const host of hosts) await host.close();
      for (const { close } of connections) await close();
      await db.drop();
    }
  });
});

async function run(hosts: readonly Host[]): Promise<Record<string, number | string>> {
  const [first] = hosts;
  if (first === undefined) throw new Error("No host was started.");
  const admin = await first.person("admin", "admin");
  const { json } = await first.createFlag({ key: "contested", name: "N", type: "string" }, admin);
  const path = `/feature-flags/admin/flags/${json.id}`;
  const patch = (index: number, body: object, ifMatch?: number) =>
    (hosts[index % hosts.length] ?? first).call("PATCH", path, {
      as: admin,
      body,
      ...(ifMatch !== undefined && { headers: { "if-match": `"${ifMatch}"` } }),
    });

  let version = 1;
  let won = 0;
  let refused = 0;
  let together = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const answers = await Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => patch(writer, { name: `${round}-${writer}` }, version)),
    );
    const winners = answers.flatMap(({ status }, writer) => (status === 200 ? [writer] : []));
    const others = answers.filter(({ status }) => status !== 200).map(({ status }) => status);
    expect(winners, `round ${round}`).toHaveLength(1);
    expect(others, `round ${round}`).toEqual(Array(WRITERS - 1).fill(409));
    won += winners.length;
    refused += others.length;
    version += 1;

    const fields = {
      description: `d${round}`,
      enabled: round % 2 === 1,
      defaultValue: `v${round}`,
      rolloutPercentage: round % 101,
      salt: `s${round}`,
      metadata: { round },
      environments: { staging: { defaultValue: `e${round}` } },
    };
    const parts = Object.entries(fields).map(([key, value]) => ({ [key]: value }));
    const merged = await Promise.all(parts.map((part, index) => patch(index, part)));
    expect(merged.map(({ status }) => status)).toEqual(Array(parts.length).fill(200));
    together += parts.length;
    version += parts.length;
    const { json: flag } = await first.call("GET", path, { as: admin });
    expect(flag).toMatchObject({ ...fields, name: `${round}-${winners[0]}`, version });
  }

  const writes = 1 + won + together;
  const store = createFlagStore(first.adapter, { warn: () => {}, pollMs: 0 });
  expect(await store.verifyAudit("")).toEqual({ ok: true, entries: writes });
  const [revision] = await first.adapter.findMany<RevisionRow>({ model: "featureFlagRevision" });
  expect(revision?.revision).toBe(writes);
  expect(await first.adapter.count({ model: "featureFlagAudit" })).toBe(writes);
  await store.close();
  return {
    "nodes that write": hosts.length,
    "PATCHes with the same If-Match": ROUNDS * WRITERS,
    "of them answered 200": won,
    "of them answered 409": refused,
    "PATCHes of different fields at once": together,
    "fields lost": 0,
    "committed writes": writes,
    "audit entries, one for each revision, chain verified": writes,
  };
}

afterAll(() => {
  if (Object.keys(figures).length < SETTINGS.length) return;
  recordEvidence("flag-concurrency", {
    what: "Many PATCHes of one flag at the same moment, over HTTP: first all with the same `If-Match`, then without it, each of a different field.",
    size: `${ROUNDS} rounds on each database, ${WRITERS} writers with the same version and 7 with different fields in each.`,
    checked:
      "Every answer, and the flag after each round: with `If-Match` exactly one writer got 200 and all others 409; without it every field had the value its writer sent. At the end the audit entries, the revision and the answers of 200 and 201 were equal in number, and the chain of hashes was whole.",
    suite: "packages/flags/test/long/concurrency.long.test.ts",
    figures,
  });
});
