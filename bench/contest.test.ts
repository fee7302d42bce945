import type { Program } from "@halyard/services";
import { describe, expect, test } from "vitest";
import { type Contest, ranIn, runContest } from "./contest.ts";
import type { Effort } from "./measurement.ts";
import type { Server } from "./server.ts";

const effort: Effort = { rounds: 4, warmSeconds: 0, measuredSeconds: 4, onRound: () => undefined };

/** A server without a process. Its port identifies the loaded server. */
function fakeServer(name: string, port: number, ended: string[] = []): Server {
  const program: Program = {
    port,
    pid: 1,
    exited: Promise.resolve(0),
    output: () => `${name} is out of memory`,
    stop: () => Promise.resolve(),
    kill: async () => void ended.push(name),
    pause: () => undefined,
    resume: () => undefined,
  };
  return { name, dialect: { protocol: "json", path: "/ws" }, start: () => Promise.resolve(program) };
}

function fakeContest(ended: string[] = []): Contest<number> {
  return {
    load: async ({ port }) => port,
    ours: fakeServer("ours", 1, ended),
    baseline: fakeServer("baseline", 2, ended),
    others: [fakeServer("other", 3, ended)],
    peers: [fakeServer("peer", 4, ended)],
  };
}

describe("a contest", () => {
  test("leaves other libraries out of a smoke run", async () => {
    const { all } = await runContest(fakeContest(), { ...effort, measuredSeconds: 0.3 });
    expect(all.map(({ name }) => name)).toEqual(["ours", "baseline", "other"]);
  });

  test("returns the result of each server in each round, ours first", async () => {
    const { ours, baseline, all } = await runContest(fakeContest(), effort);
    expect(all.map(({ name, role }) => [name, role])).toEqual([
      ["ours", "ours"],
      ["baseline", "baseline"],
      ["other", "baseline"],
      ["peer", "peer"],
    ]);
    expect(ours.samples).toEqual([1, 1, 1, 1]);
    expect(baseline.samples).toEqual([2, 2, 2, 2]);
  });

  test("returns undefined for rounds in which a peer did not run", async () => {
    const { all } = await runContest(fakeContest(), effort);
    const peer = all.find(({ name }) => name === "peer");
    expect(peer?.samples).toEqual([4, 4, 4, undefined]);
    expect(peer && ranIn(peer)).toEqual([4, 4, 4]);
  });

  test("ends every server before the next one starts", async () => {
    const ended: string[] = [];
    await runContest(fakeContest(ended), { ...effort, rounds: 1 });
    expect(ended).toEqual(["ours", "baseline", "other", "peer"]);
  });

  test("that fails names the server, includes its output and ends it", async () => {
    const ended: string[] = [];
    const load = (): Promise<number> => Promise.reject(new Error("The server closed a connection."));
    await expect(runContest({ ...fakeContest(ended), load }, effort)).rejects.toThrow(
      'Loading "ours" failed. The server closed a connection.\nThe server wrote:\nours is out of memory',
    );
    expect(ended).toEqual(["ours"]);
  });
});
