import { spawnProgram } from "@halyard/services";
import { describe, expect, test, vi } from "vitest";
import { Random, seedOf } from "./fixtures/random.ts";
import { Caller } from "./fixtures/settlement/caller.ts";
import { checkSettlement } from "./fixtures/settlement/checker.ts";
import type { HistoryEntry, Sent } from "./fixtures/settlement/history.ts";

const CONNECTIONS = 50;
const REQUESTS = 50_000;
const DEADLINE_MS = 45_000;

describe("settlement", () => {
  test(`gives each of ${REQUESTS} requests of every kind over ${CONNECTIONS} connections exactly one terminal frame with its id`, {
    timeout: 60_000,
  }, async () => {
    const random = new Random(seedOf("settlement"));
    const program = await spawnProgram({
      command: process.execPath,
      args: [
        "--conditions=@halyard/source",
        new URL("fixtures/settlement/program.ts", import.meta.url).pathname,
      ],
      env: { NODE_ENV: "production" },
    });
    const deadlineAt = performance.now() + DEADLINE_MS;
    const history: HistoryEntry[] = [];
    const url = `ws://127.0.0.1:${program.port}`;
    const callers = Array.from(
      { length: CONNECTIONS },
      (_, i) => new Caller(url, i, random.fork(i), history),
    );
    await Promise.all(callers.map((caller) => caller.opened()));
    await Promise.all(callers.map((caller) => caller.run(REQUESTS / CONNECTIONS, deadlineAt)));
    // Late handlers must have finished, and their frames must have arrived, before the history is checked.
    const isQuiet = async () => (await callers[0]?.report(deadlineAt))?.running === 0;
    await vi.waitUntil(isQuiet, { timeout: 10_000, interval: 50 }).catch(() => undefined);
    const reports = await Promise.all(callers.map((caller) => caller.report(deadlineAt)));
    for (const caller of callers) caller.close();
    await program.stop();

    const violations = checkSettlement(history);
    expect(violations.slice(0, 20), `${violations.length} violations`).toEqual([]);
    expect(reports[0]).toEqual({ running: 0, odd: [] });
    const sent = history.filter((entry): entry is Sent => entry.op === "send");
    expect(sent.filter(({ kind }) => kind !== "duplicate")).toHaveLength(REQUESTS);
    expect(new Set(sent.map(({ kind }) => kind)).size).toBe(24);
    expect(program.output()).not.toMatch(/uncaught|unhandled|^Node\.js v/im);
  });
});

describe("the settlement checker", () => {
  const at = 0;
  const sent = { op: "send", connection: 0, at, id: "a", kind: "echo", nonce: 7, steps: 0 } as const;
  const answer = { op: "receive", connection: 0, at, id: "a", kind: "answer", nonce: 7 } as const;
  const good: HistoryEntry[] = [sent, answer];

  test("accepts a correct history", () => {
    expect(checkSettlement(good)).toEqual([]);
    const duplicate = { ...sent, kind: "duplicate" } as const;
    const refused = {
      op: "receive",
      connection: 0,
      at,
      id: undefined,
      kind: "error",
      code: "ALREADY_EXISTS",
      about: "a",
    } as const;
    expect(checkSettlement([sent, duplicate, refused, answer])).toEqual([]);
  });

  test.each<[string, HistoryEntry[]]>([
    ["a request without an end", [sent]],
    ["a second response", [sent, answer, answer]],
    ["an error after the response", [sent, answer, { ...answer, kind: "error", code: "INTERNAL" }]],
    ["progress after the response", [sent, answer, { ...answer, kind: "progress", nonce: 1 }]],
    ["progress that was not requested", [sent, { ...answer, kind: "progress", nonce: 1 }, answer]],
    ["missing progress", [{ ...sent, kind: "steps", steps: 1 }, answer]],
    ["the response to another request", [sent, { ...answer, nonce: 8 }]],
    ["a response on another connection", [sent, { ...answer, connection: 1 }]],
    ["a response without a request", [{ ...answer, id: "b" }, ...good]],
    ["the wrong outcome", [{ ...sent, kind: "thrown" }, answer]],
    [
      "the wrong code",
      [
        { ...sent, kind: "thrown" },
        { ...answer, kind: "error", code: "NOT_FOUND" },
      ],
    ],
    ["a duplicate that was not refused", [sent, { ...sent, kind: "duplicate" }, answer]],
    ["a connection that was closed", [...good, { op: "close", connection: 0, at, code: 1006 }]],
    ["an error without an id", [...good, { ...answer, id: undefined, kind: "error", code: "INTERNAL" }]],
  ])("finds %s", (_, history) => {
    expect(checkSettlement(history)).not.toEqual([]);
  });
});
