/**
 * How stale each reader may be for each kind of change. The tables that it prints compare two builds: run this file in
 * both, and no figure may be larger in the newer one.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type Application,
  drive,
  measureStaleness,
  printStaleness,
  STORES,
  takeClock,
  WAYS,
} from "../staleness.ts";

describe.each(STORES)("on $name", ({ name, start }) => {
  let application: Application;
  beforeAll(async () => {
    takeClock();
    application = await drive(start());
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await application.close();
  });

  test.each(WAYS)("a change $name is seen by every reader in time", async (way) => {
    const staleness = await measureStaleness(application, way);
    console.log(printStaleness(`${way.name}, on ${name}`, staleness));
    const late = [...staleness].flatMap(([change, row]) =>
      [...row].filter(([, ms]) => ms > way.boundMs).map(([reader, ms]) => `${change}, ${reader}: ${ms} ms`),
    );
    expect(late).toEqual([]);
  });
});
