/** History in the SQLite storage of a Durable Object, in the real workerd. */
import { startWorker, type Worker } from "@halyard/services/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  AppendOptions,
  AppendResult,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
  PubSub,
  Subscriber,
} from "../src/index.ts";
import { historyContract } from "./contract/history.ts";
import type { HistoryCall, HistoryDelivery } from "./fixtures/history-worker.ts";

const POLL = { timeout: 20_000, interval: 20 };
const KEPT = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };

let worker: Worker;
let count = 0;
beforeAll(async () => {
  worker = await startWorker({
    entry: new URL("fixtures/history-worker.ts", import.meta.url).pathname,
    durableObjects: { LOG: "Log" },
    evictable: true,
  });
});
afterAll(() => worker.stop());

/** The pub/sub inside one object. What it delivers arrives with the reply to the call. */
class RemotePubSub implements PubSub {
  readonly name = `log ${++count}`;
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  #last: Promise<unknown> = Promise.resolve();
  readonly history = {
    append: (topic: string, frame: string, options: AppendOptions) =>
      this.call<AppendResult>({ do: "append", topic, frame, options }),
    read: (topic: string, options: HistoryReadOptions) =>
      this.call<HistoryPage>({ do: "read", topic, options }).then(restored),
    top: (topic: string) => this.call<HistoryPosition>({ do: "top", topic }),
    delete: (topic: string) => this.call<void>({ do: "delete", topic }),
  };

  /** One call after the other, so that deliveries stay in order. */
  call<Result>(call: HistoryCall): Promise<Result> {
    const result = this.#last.then(() => this.#call<Result>(call));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #call<Result>(call: HistoryCall): Promise<Result> {
    const url = worker.url.replace(/^ws/, "http");
    const query = new URLSearchParams({ log: this.name });
    const response = await fetch(`${url}/?${query}`, { method: "POST", body: JSON.stringify(call) });
    if (!response.ok) throw new Error(await response.text());
    const reply = (await response.json()) as { result: Result; delivered: HistoryDelivery[] };
    for (const { topic, frame, excludeClientId, position } of reply.delivered)
      for (const subscriber of this.#subscribers.get(topic) ?? [])
        subscriber.deliver(topic, frame, excludeClientId, position);
    return reply.result;
  }

  async subscribe(topic: string, subscriber: Subscriber): Promise<void> {
    const existing = this.#subscribers.get(topic);
    if (existing !== undefined) return void existing.add(subscriber);
    this.#subscribers.set(topic, new Set([subscriber]));
    await this.call({ do: "subscribe", topic });
  }

  unsubscribe(topic: string, subscriber: Subscriber): void {
    this.#subscribers.get(topic)?.delete(subscriber);
  }

  publish(topic: string, frame: string) {
    return this.call<{ ok: true }>({ do: "publish", topic, frame });
  }

  close(): void {}
}

historyContract("a Durable Object", async () => {
  const pubsub = new RemotePubSub();
  return { near: pubsub, far: pubsub, stop: async () => undefined };
});

describe("history in a Durable Object", () => {
  test("survives hibernation: the epoch, the frames and the ids", async () => {
    const { name, history } = new RemotePubSub();
    const first = await history.append("room", "a", { ...KEPT, id: "1" });
    expect(await worker.evict("LOG", name)).toBe(true);
    expect(await history.append("room", "a", { ...KEPT, id: "1" })).toMatchObject({
      isRepeated: true,
      position: first.ok && first.position,
    });
    expect(await history.append("room", "b", KEPT)).toMatchObject({ position: { offset: 2 } });
    expect((await history.read("room", { ...ALL, last: 5 })).items).toHaveLength(2);
  });

  test("removes what has expired by an alarm, also from an object that hibernates", async () => {
    for (const [lifetime, rows] of [
      ["frame", [1, 0, 0]], // the epoch stays
      ["topic", [0, 0, 0]],
    ] as const) {
      const pubsub = new RemotePubSub();
      await pubsub.history.append("topic", "a", { size: 5, ttlMs: 300, id: "1", lifetime });
      await worker.evict("LOG", pubsub.name);
      await expect.poll(() => pubsub.call({ do: "rows" }), POLL).toEqual(rows);
    }
  });

  test("begins a new epoch after the application deleted the storage", async () => {
    const pubsub = new RemotePubSub();
    const before = await pubsub.history.top("room");
    await pubsub.history.append("room", "a", KEPT);
    await pubsub.call({ do: "deleteAll" });
    const result = await pubsub.history.append("room", "b", KEPT);
    expect(result).toMatchObject({ ok: true, position: { offset: 1 } });
    expect(await pubsub.history.read("room", { ...ALL, after: before })).toMatchObject({ isMissing: true });
  });

  test("refuses a frame that is too large for a row", async () => {
    const { history } = new RemotePubSub();
    expect(await history.append("room", "x".repeat(2_000_000), KEPT)).toMatchObject({
      ok: false,
      error: "VALIDATION",
    });
  });
});

/** JSON leaves out members that are undefined. */
function restored(page: HistoryPage): HistoryPage {
  const items = page.items.map(({ offset, frame, excludeClientId }) => ({ offset, frame, excludeClientId }));
  return { ...page, items };
}
