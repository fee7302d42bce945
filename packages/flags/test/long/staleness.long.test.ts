/**
 * How stale each reader may be for each kind of change. The tables that it prints compare two builds: run this file in
 * both, and no figure may be larger in the newer one.
 */
import { recordEvidence } from "@halyard/services/evidence";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type Application,
  boundOf,
  CHANGES,
  drive,
  isTold,
  measureStaleness,
  PHASES_MS,
  printStaleness,
  READERS,
  STORES,
  type Staleness,
  takeClock,
  WAYS,
  type Way,
} from "../staleness.ts";

/** Of the tests that have passed. */
const passed: { readonly store: string; readonly way: Way; readonly staleness: Staleness }[] = [];

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
      [...row]
        .filter(([reader, ms]) => ms > boundOf(way, change, reader))
        .map(([reader, ms]) => `${change.name}, ${reader}: ${ms} ms`),
    );
    expect(late).toEqual([]);
    passed.push({ store: name, way, staleness });
  });
});

/** In seconds, of all changes. Those that a bus does not carry have rows of their own. */
function figures(): Record<string, Record<string, string>> {
  const columns: Record<string, Record<string, string>> = {};
  for (const reader of READERS) {
    const longestMs = new Map<string, number>();
    for (const { store, way, staleness } of passed)
      for (const [change, row] of staleness) {
        const kind = way.bus === "both" && !isTold(way, change) ? `: ${change.name}` : "";
        const title = `${way.name}${kind}, on ${store}`;
        const ms = row.get(reader);
        if (ms !== undefined) longestMs.set(title, Math.max(ms, longestMs.get(title) ?? 0));
      }
    columns[reader] = Object.fromEntries(
      [...longestMs].map(([title, ms]) => [title, (ms / 1000).toFixed(2)]),
    );
  }
  return columns;
}

afterAll(() => {
  if (passed.length !== STORES.length * WAYS.length) return;
  recordEvidence("staleness", {
    what: "Rows of sessions, users, members, organizations and API keys are changed: by the process itself, by another one with and without a bus, and by SQL. Each of six readers, alone with its subject, uses them four times a second.",
    size: `${CHANGES.length} changes, each at ${PHASES_MS.length} times within the 4 s between two comparisons; ${STORES.length} databases. The clock is moved in steps of 250 ms.`,
    checked:
      "The time from a change until the reader saw it, in seconds, the longest of all changes. Changes that a process made or was told of are seen in the same step, all others within 5 s. The fast path uses an API key for 4.8 s after its verification, whoever changes the key.",
    suite: "packages/flags/test/long/staleness.long.test.ts",
    figures: figures(),
  });
});
