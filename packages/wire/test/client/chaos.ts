/** Many clients on a faulty network, and the outcome of each of their requests. */
import { spawnProgram } from "@halyard/services";
import { expect, vi } from "vitest";
import type { ClientState } from "../../src/client/connection.ts";
import { wsClient } from "../../src/client/zod.ts";
import type { WsError } from "../../src/protocol/error.ts";
import { rpc, z } from "../../src/zod.ts";
import { Random } from "../fixtures/random.ts";
import { FAULTS, startChaosProxy } from "./chaos-proxy.ts";

const SERVER = new URL("../fixtures/chaos-server.ts", import.meta.url).pathname;

const Work = rpc("WORK", { id: z.string() }, "WORK_OK", { id: z.string() });
const Report = rpc("REPORT", undefined, "REPORT_OK", { handled: z.number(), twice: z.array(z.string()) });

const NEXT: Readonly<Record<ClientState, readonly ClientState[]>> = {
  closed: ["connecting"],
  connecting: ["open", "reconnecting", "closed"],
  open: ["closing", "reconnecting", "closed"],
  closing: ["closed"],
  reconnecting: ["open", "closed"],
};

export interface Chaos {
  readonly command: string;
  readonly clients: number;
  readonly durationMs: number;
  readonly seed: number;
}

/** Runs the clients and throws when a guarantee is violated. Returns the number of requests per outcome and of connections per fault. */
export async function runChaos({
  command,
  clients: size,
  durationMs,
  seed,
}: Chaos): Promise<Record<string, number>> {
  const server = await spawnProgram({ command, args: ["--conditions=@halyard/source", SERVER] });
  const random = new Random(seed);
  const proxy = await startChaosProxy(server.port, () => random.next());
  const reconnect = { initialDelayMs: 20, maxDelayMs: 300 };
  const clients = Array.from({ length: size }, () =>
    wsClient({ url: `ws://127.0.0.1:${proxy.port}/`, reconnect }),
  );
  const illegal: string[] = [];
  const outcomes = new Map<string, number>();
  const settled: number[] = [];
  const count = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);

  function ask(client: (typeof clients)[number], id: string): Promise<void> {
    const at = settled.push(0) - 1;
    const settle = (outcome: string): void => {
      settled[at] = (settled[at] ?? 0) + 1;
      count(outcome);
    };
    const signal = random.next() < 0.05 ? AbortSignal.timeout(20) : undefined;
    return client.request(Work, { id }, { timeoutMs: 3_000, ...(signal && { signal }) }).then(
      ({ payload }) => settle(payload.id === id ? "answered" : `response to ${payload.id}`),
      (error: WsError) => settle(error.code),
    );
  }

  const end = performance.now() + durationMs;
  await Promise.all(
    clients.map(async (client, index) => {
      let state: ClientState = "closed";
      client.onState((next) => {
        if (!NEXT[state].includes(next)) illegal.push(`${state} to ${next}`);
        state = next;
      });
      client.connect().catch(() => undefined);
      for (let n = 0; performance.now() < end; n++) {
        await Promise.all([ask(client, `${index}-${n}-a`), ask(client, `${index}-${n}-b`)]);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }),
  );

  proxy.heal();
  await vi.waitFor(() => expect(clients.every(({ isConnected }) => isConnected)).toBe(true), 30_000);
  await Promise.all(clients.map((client, index) => ask(client, `${index}-last`)));
  const observer = wsClient({ url: `ws://127.0.0.1:${server.port}/` });
  await observer.connect();
  const { payload: report } = await observer.request(Report);
  await Promise.all([observer, ...clients].map((client) => client.close()));
  await proxy.stop();
  await server.stop();

  expect(illegal).toEqual([]);
  expect(settled.filter((times) => times !== 1)).toEqual([]);
  expect(report.twice).toEqual([]);
  const expected = ["answered", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"];
  expect([...outcomes.keys()].filter((outcome) => !expected.includes(outcome))).toEqual([]);
  expect(outcomes.get("answered")).toBeGreaterThan(size);
  expect(FAULTS.filter((fault) => proxy.faults[fault] === 0)).toEqual([]);
  return {
    "requests, each settled once": settled.length,
    ...Object.fromEntries(expected.map((outcome) => [`of them ${outcome}`, outcomes.get(outcome) ?? 0])),
    "handled by the server, none twice": report.handled,
    ...Object.fromEntries(FAULTS.map((fault) => [`connections: ${fault}`, proxy.faults[fault]])),
  };
}
