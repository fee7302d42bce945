import { expect, test, vi } from "vitest";
import type { FlagsProcess } from "../model/console.ts";
import type { BusState } from "../store/announcer.ts";
import { createProcesses, type ProcessState } from "./processes.ts";

const STATE: ProcessState = {
  startedAt: "2026-01-01T00:00:00.000Z",
  version: "1.0.0",
  revision: 7,
  snapshotAgeMs: 5,
  stale: false,
  fastPath: "off",
};
const OTHER: FlagsProcess = { id: "other", ...STATE, revision: 8 };

/** A process on a bus that keeps what is sent. */
function onBus(state: BusState = "up") {
  const sent: { ask?: string; to?: string; process?: FlagsProcess }[] = [];
  const processes = createProcesses(async () => STATE);
  processes.connect({
    announce: () => undefined,
    send: (text) => void sent.push(JSON.parse(text)),
    state: () => state,
    close: async () => undefined,
  });
  const say = (message: unknown): void => processes.received(JSON.stringify(message));
  return { ...processes, sent, say };
}

test("a process lists itself and each process that answers its question, once", async () => {
  const { list, sent, say } = onBus();
  const listing = list();
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const to = sent[0]?.ask;
  say({ to, process: OTHER });
  say({ to, process: OTHER });
  expect(await listing).toEqual([{ id: expect.any(String), ...STATE }, OTHER]);
});

test("a process answers a question with its own state", async () => {
  const { sent, say } = onBus();
  say({ ask: "q" });
  await vi.waitFor(() => expect(sent).toEqual([{ to: "q", process: { id: expect.any(String), ...STATE } }]));
});

test("a process ignores what is not a question or an answer to its own", async () => {
  const { list, received, sent, say } = onBus();
  const listing = list();
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const to = sent[0]?.ask;
  for (const text of ["", "{", "[]", "null", "{}"]) received(text);
  say({ ask: 1 });
  say({ ask: "x".repeat(101) });
  say({ ask: "q", more: true });
  say({ to: "another question", process: OTHER });
  say({ to, process: { ...OTHER, revision: "8" } });
  say({ to, process: { ...OTHER, version: "x".repeat(101) } });
  say({ to, process: { ...OTHER, more: true } });
  expect(await listing).toHaveLength(1);
  expect(sent).toHaveLength(1);
});

test("people who look at the same time are one question", async () => {
  const { list, sent } = onBus();
  const [one, two] = await Promise.all([list(), list()]);
  expect(sent).toHaveLength(1);
  expect(two).toEqual(one);
});

test.for(["down", "off"] as const)("a process whose bus is %s lists itself at once", async (state) => {
  const { list, sent } = onBus(state);
  expect(await list()).toHaveLength(1);
  expect(sent).toEqual([]);
});
