import { expect, onTestFinished, test, vi } from "vitest";
import type { LeaseRow } from "../../../model/tables.ts";
import type { Adapter } from "../../rows/queries.ts";
import type { Outbox } from "./outbox.ts";
import { createSinks } from "./sinks.ts";

const HOUR_MS = 3_600_000;

test("events of sinks that are no longer configured are dropped and counted", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const row: LeaseRow = { id: "1", name: "sink:a", holder: "", beat: 0 };
  const adapter = {
    findOne: async () => ({ ...row }),
    updateMany: async ({ update }: { update: Partial<LeaseRow> }) => Object.assign(row, update) && 1,
  } as unknown as Adapter;
  const parts = [500, 500, 3];
  const outbox: Outbox = {
    peek: async () => [],
    remove: async () => undefined,
    count: async () => 0,
    removeOthers: async () => parts.shift() ?? 0,
  };
  let lost = 0;
  const sinks = createSinks([{ name: "a", deliver: async () => undefined }], {
    adapter,
    outbox,
    meter: {
      delivered: () => undefined,
      lost: (_what, count) => {
        lost += count;
      },
      observe: () => undefined,
    },
    warn: () => undefined,
    monotonicMs: () => 0,
  });
  await vi.advanceTimersByTimeAsync(HOUR_MS + 1000);
  expect([lost, parts]).toEqual([1003, []]);
  await sinks.close();
});
