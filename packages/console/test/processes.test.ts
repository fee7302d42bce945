/** The processes that the screen "Health" lists, asked over each kind of bus. */
import type { FeatureFlagsBus, FeatureFlagsOptions } from "@halyard/flags";
import { describe, expect, onTestFinished, test } from "vitest";
import { BUSES } from "../../flags/test/buses.ts";
import { type FreshPostgres, freshPostgres } from "../../flags/test/databases.ts";
import { type Host, type Person, startHost } from "../../flags/test/host.ts";
import { mountConsole } from "./console-host.ts";

type Pool = ReturnType<FreshPostgres["connect"]>["database"];

interface OneProcess {
  readonly host: Host;
  list(as: Person): Promise<{ bus: string; processes: { id: string; revision: number; stale: boolean }[] }>;
}

/** A process with its own pool, and the console mounted. The first one creates the tables. */
async function startProcess(
  db: FreshPostgres,
  optionsOf: (pool: Pool) => FeatureFlagsOptions,
  migrate: boolean,
): Promise<OneProcess> {
  const { database, close } = db.connect({ max: 5 });
  const host = await startHost({ database, migrate, flags: optionsOf(database) });
  onTestFinished(async () => {
    await host.close();
    await close();
  });
  const console_ = mountConsole(host);
  return {
    host,
    async list(as) {
      const { status, json } = await console_.own("processes", {}, as);
      expect(status).toBe(200);
      return json;
    },
  };
}

async function startTwo(optionsOf: (db: FreshPostgres) => Promise<() => Promise<OptionsOf>>): Promise<{
  readonly first: OneProcess;
  readonly second: OneProcess;
  readonly admin: Person;
}> {
  const db = await freshPostgres();
  onTestFinished(db.drop);
  const next = await optionsOf(db);
  const first = await startProcess(db, await next(), true);
  const second = await startProcess(db, await next(), false);
  // The service of a process starts with its first request.
  await second.host.auth.api.getFeatureFlagsHealth();
  return { first, second, admin: await first.host.person("admin", "admin") };
}

type OptionsOf = (pool: Pool) => FeatureFlagsOptions;

const WITH_BUS: readonly { name: string; optionsOf(db: FreshPostgres): Promise<() => Promise<OptionsOf>> }[] =
  [
    {
      name: "the option `postgres`",
      optionsOf: async () => async () => (pool) => ({ postgres: pool }),
    },
    ...BUSES.map(({ name, prepare }) => ({
      name,
      async optionsOf(db: FreshPostgres) {
        const openBus = await prepare(db);
        return async () => {
          const bus: FeatureFlagsBus = await openBus();
          return () => ({ bus });
        };
      },
    })),
  ];

describe.each(WITH_BUS)("guide/console-screens: Health with two processes over $name", ({ optionsOf }) => {
  test("each process lists both, itself first, with the revision it has in memory", async () => {
    const { first, second, admin } = await startTwo(optionsOf);
    const created = { key: "a", name: "A", type: "boolean" as const };
    await first.host.auth.api.createFeatureFlag({ body: created });
    await expect
      .poll(async () => (await first.list(admin)).processes.map(({ revision }) => revision))
      .toEqual([1, 1]);
    const byFirst = await first.list(admin);
    const bySecond = await second.list(admin);
    expect([byFirst.bus, bySecond.bus]).toEqual(["up", "up"]);
    expect(bySecond.processes.map(({ id }) => id)).toEqual(byFirst.processes.map(({ id }) => id).reverse());
    expect(byFirst.processes.map(({ stale }) => stale)).toEqual([false, false]);
  });
});

test("guide/console-screens: Health: without a bus a process lists only itself, and says so", async () => {
  const { first, admin } = await startTwo(async () => async () => () => ({}));
  expect(await first.list(admin)).toMatchObject({ bus: "off", processes: [{ stale: false }] });
});
