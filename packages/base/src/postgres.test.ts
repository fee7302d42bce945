import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BusListener } from "./bus.ts";
import { type ListeningConnection, listen } from "./postgres.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection that answers until it is told otherwise. */
class FakeConnection implements ListeningConnection {
  readonly #listeners = new Map<string, (event: never) => void>();
  readonly queries: string[] = [];
  isClosed = false;
  isSilent = false;

  query(text: string): Promise<unknown> {
    this.queries.push(text);
    return this.isSilent ? new Promise(() => {}) : Promise.resolve();
  }

  on(event: string, listener: (event: never) => void): void {
    this.#listeners.set(event, listener);
  }

  emit(event: string, value: unknown): void {
    this.#listeners.get(event)?.(value as never);
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Listens on connections that `open` opens, and keeps what the listener was told. */
function start(open: () => Promise<FakeConnection>) {
  const told: string[] = [];
  const listener: BusListener = {
    received: (message) => void told.push(`received ${message}`),
    missed: () => void told.push("missed"),
    lost: (error) => void told.push(`lost: ${error instanceof Error ? error.message : error}`),
  };
  const stop = listen({ channel: async () => 'my "channel"', open }, listener);
  return { told, stop };
}

test("tries again until a connection opens, and tells of the outage once", async () => {
  const connection = new FakeConnection();
  const open = vi.fn(async (): Promise<FakeConnection> => {
    if (open.mock.calls.length <= 5) throw new Error("refused");
    return connection;
  });
  const { told, stop } = start(open);
  // 100, 200, 400, 800 and 1,600 ms at most.
  await vi.advanceTimersByTimeAsync(3100);
  expect(open).toHaveBeenCalledTimes(6);
  expect(told).toEqual(["lost: refused", "missed"]);
  expect(connection.queries).toEqual(['listen "my ""channel"""']);
  connection.emit("notification", { payload: "hello" });
  connection.emit("error", new Error("cut"));
  connection.emit("end", undefined);
  expect(told.slice(2)).toEqual(["received hello", "lost: cut"]);
  expect(connection.isClosed).toBe(true);
  stop();
});

test("a connection that is silent for 5 s is replaced, and its late messages do not count", async () => {
  const connections: FakeConnection[] = [];
  const { told, stop } = start(async () => {
    const connection = new FakeConnection();
    connections.push(connection);
    return connection;
  });
  await vi.advanceTimersByTimeAsync(0);
  const [first] = connections;
  if (first === undefined) throw new Error("No connection was opened.");
  first.isSilent = true;
  // The connection is tested every 15 s.
  await vi.advanceTimersByTimeAsync(15_000 + 5_000);
  await vi.waitFor(() => expect(first.isClosed).toBe(true));
  await vi.advanceTimersByTimeAsync(100);
  first.emit("notification", { payload: "late" });
  expect(told).toEqual(["missed", "lost: PostgreSQL did not respond within 5000 ms.", "missed"]);
  expect(connections).toHaveLength(2);
  stop();
  expect(connections[1]?.isClosed).toBe(true);
});

test("a connection that opens after the stop is closed, and nothing is told", async () => {
  const connection = new FakeConnection();
  let opened: (connection: FakeConnection) => void = () => {};
  const { told, stop } = start(
    () =>
      new Promise((resolve) => {
        opened = resolve;
      }),
  );
  await vi.advanceTimersByTimeAsync(0);
  stop();
  opened(connection);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([connection.isClosed, told, vi.getTimerCount()]).toEqual([true, [], 0]);
});
