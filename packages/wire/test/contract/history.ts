/** The contract of every history: one contiguous log per topic, the same for all processes, bounded in frames and time. */
import { afterEach, describe, expect, test } from "vitest";
import type {
  AppendOptions,
  History,
  HistoryPage,
  HistoryPosition,
  PubSub,
  Subscriber,
} from "../../src/index.ts";

/** Two ends of one pub/sub: the same object in one process, otherwise two connections to one broker. */
export interface TestHistoryBus {
  readonly near: PubSub;
  readonly far: PubSub;
  stop(): Promise<void>;
}

interface Delivery {
  readonly frame: string;
  readonly excludeClientId: string | undefined;
  readonly position: HistoryPosition | undefined;
}

class Listener implements Subscriber {
  readonly deliveries: Delivery[] = [];

  deliver(_topic: string, frame: string, excludeClientId?: string, position?: HistoryPosition): number {
    this.deliveries.push({ frame, excludeClientId, position });
    return 1;
  }

  get frames(): string[] {
    return this.deliveries.map(({ frame }) => frame);
  }

  get offsets(): (number | undefined)[] {
    return this.deliveries.map(({ position }) => position?.offset);
  }
}

const POLL = { timeout: 20_000, interval: 10 };
const KEPT: AppendOptions = { size: 100, ttlMs: 600_000 };
const ALL = { maxItems: 1_000, maxBytes: 10_000_000 };
/** Short enough to wait for, in ms. */
const SHORT_MS = 200;

export function historyContract(name: string, start: () => Promise<TestHistoryBus>): void {
  describe(`history with ${name}`, { timeout: 60_000 }, () => {
    let bus: TestHistoryBus | undefined;
    afterEach(async () => {
      await bus?.stop();
      bus = undefined;
    });

    interface Ends {
      readonly near: PubSub;
      readonly far: PubSub;
      readonly history: History;
      readonly farHistory: History;
    }
    const open = async (): Promise<Ends> => {
      bus = await start();
      const { near, far } = bus;
      return { near, far, history: historyOf(near), farHistory: historyOf(far) };
    };
    const append = async (
      history: History,
      topic: string,
      frame: string,
      options: Partial<AppendOptions> = {},
    ): Promise<HistoryPosition> => {
      const given = { ...KEPT, ...options };
      let result = await history.append(topic, frame, given);
      // A busy machine may lose the connection; an append with an id can be repeated.
      for (
        let attempt = 0;
        !result.ok && result.retryable && given.id !== undefined && attempt < 50;
        attempt++
      ) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        result = await history.append(topic, frame, given);
      }
      if (!result.ok) throw new Error(`The append of "${frame}" failed: ${JSON.stringify(result)}`);
      return result.position;
    };
    const appendAll = async (history: History, topic: string, frames: readonly string[]) => {
      const positions: HistoryPosition[] = [];
      for (const frame of frames) positions.push(await append(history, topic, frame));
      return positions;
    };

    test("the first frame of a topic has offset 1, and each later one the next offset of the same epoch", async () => {
      const { history, farHistory } = await open();
      const before = await history.top("room");
      expect(before.offset).toBe(0);
      const positions = [
        await append(history, "room", "a"),
        await append(farHistory, "room", "b"),
        await append(history, "room", "c"),
      ];
      const { epoch } = await history.top("room");
      expect(positions).toEqual([1, 2, 3].map((offset) => ({ epoch, offset })));
      expect(await farHistory.top("room")).toEqual({ epoch, offset: 3 });
      expect(await append(history, "other", "a")).toMatchObject({ offset: 1 });
    });

    test("an appended frame reaches the subscribers of both ends unchanged, with its position", async () => {
      const { near, far, history } = await open();
      const listeners = [new Listener(), new Listener()];
      await near.subscribe("room", listeners[0] ?? new Listener());
      await far.subscribe("room", listeners[1] ?? new Listener());
      const frames = ['{"type":"A"}', "two\nlines", "Zoë 🛶 \u2028", "x".repeat(100_000), ""];
      const positions = await appendAll(history, "room", frames);
      for (const listener of listeners) {
        await expect.poll(() => listener.deliveries.length, POLL).toBe(frames.length);
        expect(listener.frames).toEqual(frames);
        expect(listener.deliveries.map(({ position }) => position)).toEqual(positions);
      }
      const { items } = await history.read("room", { ...ALL, last: 10 });
      expect(items.map(({ frame }) => frame)).toEqual(frames);
    });

    test("an append for another epoch fails with EPOCH and appends nothing", async () => {
      const { history, farHistory } = await open();
      const { epoch } = await append(history, "room", "a");
      expect(await append(farHistory, "room", "b", { epoch })).toEqual({ epoch, offset: 2 });
      const refused = { ok: false, error: "EPOCH", retryable: false };
      expect(await history.append("room", "c", { ...KEPT, epoch: "other" })).toEqual(refused);
      expect(await history.append("empty", "c", { ...KEPT, epoch })).toEqual(refused);
      expect(framesOf(await farHistory.read("room", { ...ALL, last: 10 }))).toEqual(["a", "b"]);
      await history.delete("room");
      expect(await history.append("room", "c", { ...KEPT, epoch })).toEqual(refused);
    });

    test("a published frame has no position and is not in the log", async () => {
      const { near, history } = await open();
      const listener = new Listener();
      await near.subscribe("room", listener);
      await near.publish("room", "plain", {});
      await append(history, "room", "kept");
      await expect.poll(() => listener.frames, POLL).toEqual(["plain", "kept"]);
      expect(listener.offsets).toEqual([undefined, 1]);
      expect(framesOf(await history.read("room", { ...ALL, last: 10 }))).toEqual(["kept"]);
    });

    test("concurrent appends of two processes get contiguous offsets, and every subscriber receives them in that order", async () => {
      const { near, far, history, farHistory } = await open();
      const listeners = [new Listener(), new Listener()];
      await near.subscribe("room", listeners[0] ?? new Listener());
      await far.subscribe("room", listeners[1] ?? new Listener());
      const count = 100;
      const options = { size: 1_000 };
      const appended = await Promise.all(
        Array.from({ length: count }, (_, i) => [
          append(history, "room", `near ${i}`, options),
          append(farHistory, "room", `far ${i}`, options),
        ]).flat(),
      );
      const expected = Array.from({ length: 2 * count }, (_, i) => i + 1);
      expect(appended.map(({ offset }) => offset).sort((a, b) => a - b)).toEqual(expected);
      expect(new Set(appended.map(({ epoch }) => epoch)).size).toBe(1);
      const page = await history.read("room", { ...ALL, last: 1_000 });
      expect(page.items.map(({ offset }) => offset)).toEqual(expected);
      for (const listener of listeners) {
        await expect.poll(() => listener.deliveries.length, POLL).toBe(2 * count);
        expect(listener.offsets).toEqual(expected);
        expect(listener.frames).toEqual(framesOf(page));
      }
      const own = framesOf(page).filter((frame) => frame.startsWith("near"));
      expect(own).toEqual(Array.from({ length: count }, (_, i) => `near ${i}`));
    });

    test("an append with an id that was used before appends and publishes nothing, and has the first position", async () => {
      const { near, history, farHistory } = await open();
      const listener = new Listener();
      await near.subscribe("room", listener);
      const first = await append(history, "room", "once", { id: "key" });
      await append(history, "room", "between");
      const again = await farHistory.append("room", "once", { ...KEPT, id: "key" });
      expect(again).toMatchObject({ ok: true, position: first, isRepeated: true });
      await append(history, "room", "last", { id: "other key" });
      expect(await append(history, "another room", "once", { id: "key" })).toMatchObject({ offset: 1 });
      await expect.poll(() => listener.frames, POLL).toEqual(["once", "between", "last"]);
      expect(framesOf(await history.read("room", { ...ALL, last: 10 }))).toEqual(["once", "between", "last"]);
    });

    test("an id is remembered for at least 1,000 further ids, also when one frame is kept", async () => {
      const { history } = await open();
      const options = { size: 1 };
      const first = await append(history, "room", "first", { ...options, id: "first" });
      for (let from = 0; from < 999; from += 111)
        await Promise.all(
          Array.from({ length: 111 }, (_, i) =>
            append(history, "room", "x", { ...options, id: `id ${from + i}` }),
          ),
        );
      expect(await append(history, "room", "first", { ...options, id: "first" })).toEqual(first);
    });

    test("a read after a position returns exactly the frames after it", async () => {
      const { history, farHistory } = await open();
      const positions = await appendAll(history, "room", ["a", "b", "c", "d"]);
      for (const [i, after] of positions.entries()) {
        const page = await farHistory.read("room", { ...ALL, after });
        expect(framesOf(page)).toEqual(["a", "b", "c", "d"].slice(i + 1));
        expect(page).toMatchObject({ epoch: after.epoch, top: 4, isMissing: false, hasMore: false });
      }
    });

    test("a reader that has received nothing yet continues from the top it was given, without a gap", async () => {
      const { history, farHistory } = await open();
      const before = await history.top("room");
      await appendAll(farHistory, "room", ["a", "b"]);
      const page = await history.read("room", { ...ALL, after: before });
      expect(page).toMatchObject({ top: 2, isMissing: false });
      expect(framesOf(page)).toEqual(["a", "b"]);
      const empty = await history.top("empty");
      const again = await farHistory.read("empty", { ...ALL, after: empty });
      expect(again).toMatchObject({ epoch: empty.epoch, top: 0, isMissing: false, items: [] });
    });

    test("a reader that has received nothing yet gets a gap when the log has lost its first frames, or is another one", async () => {
      const { history, farHistory } = await open();
      const before = await history.top("room");
      for (const frame of ["a", "b", "c"]) await append(farHistory, "room", frame, { size: 2 });
      const lost = await history.read("room", { ...ALL, after: before });
      expect([lost.isMissing, framesOf(lost)]).toEqual([true, ["b", "c"]]);
      await append(farHistory, "other", "a");
      const { epoch } = await append(farHistory, "other", "b");
      await history.delete("other");
      const deleted = await history.read("other", { ...ALL, after: { epoch, offset: 1 } });
      expect([deleted.isMissing, framesOf(deleted)]).toEqual([true, []]);
    });

    test("a read of the last frames returns at most as many as are kept, in order", async () => {
      const { history } = await open();
      await appendAll(history, "room", ["a", "b", "c"]);
      for (const [last, frames] of [
        [0, []],
        [1, ["c"]],
        [2, ["b", "c"]],
        [50, ["a", "b", "c"]],
      ] as const) {
        const page = await history.read("room", { ...ALL, last });
        expect([last, framesOf(page), page.isMissing, page.hasMore]).toEqual([last, frames, false, false]);
      }
    });

    test("a topic keeps its newest frames up to the size; what is read from before them is missing", async () => {
      const { history } = await open();
      const positions: HistoryPosition[] = [await history.top("room")];
      for (let i = 1; i <= 10; i++) positions.push(await append(history, "room", `${i}`, { size: 4 }));
      for (const after of positions) {
        const page = await history.read("room", { ...ALL, after });
        const isMissing = after.offset < 6;
        expect([after.offset, page.isMissing]).toEqual([after.offset, isMissing]);
        const expected = ["7", "8", "9", "10"].slice(isMissing ? 0 : after.offset - 6);
        expect(framesOf(page)).toEqual(expected);
      }
    });

    test("a frame is not read after its time, and the topic keeps its epoch and offsets", async () => {
      const { history } = await open();
      const first = await append(history, "room", "short", { ttlMs: SHORT_MS });
      await expect
        .poll(async () => framesOf(await history.read("room", { ...ALL, last: 10 })), POLL)
        .toEqual([]);
      const second = await append(history, "room", "later");
      expect(second).toEqual({ epoch: first.epoch, offset: 2 });
      const before = { epoch: first.epoch, offset: 0 };
      expect(await history.read("room", { ...ALL, after: before })).toMatchObject({
        isMissing: true,
        top: 2,
      });
      expect(await history.read("room", { ...ALL, after: first })).toMatchObject({ isMissing: false });
    });

    test("frames expire one by one: a later frame does not keep an earlier one", async () => {
      const { history } = await open();
      await append(history, "room", "short", { ttlMs: SHORT_MS });
      await append(history, "room", "long");
      await expect
        .poll(async () => framesOf(await history.read("room", { ...ALL, last: 10 })), POLL)
        .toEqual(["long"]);
    });

    test("a frame stays as long as an earlier one, so that what is read is contiguous", async () => {
      const { history } = await open();
      await append(history, "room", "long");
      await append(history, "room", "short", { ttlMs: 1 });
      await append(history, "other", "short", { ttlMs: 1 });
      await append(history, "room", "last");
      await expect
        .poll(async () => framesOf(await history.read("other", { ...ALL, last: 10 })), POLL)
        .toEqual([]);
      expect(framesOf(await history.read("room", { ...ALL, last: 10 }))).toEqual(["long", "short", "last"]);
    });

    test("a log with the lifetime of its topic is kept whole until that time after its last frame, then nothing is left", async () => {
      const { history } = await open();
      const options = { lifetime: "topic", ttlMs: SHORT_MS } as const;
      const { epoch } = await append(history, "call", "first", { ...options, id: "1" });
      await append(history, "call", "end", { ...options, isLast: true });
      const read = () => history.read("call", { ...ALL, after: { epoch, offset: 0 }, create: false });
      await expect.poll(async () => (await read()).epoch, POLL).toBe("");
      expect(await read()).toEqual({
        epoch: "",
        top: 0,
        items: [],
        isMissing: true,
        hasMore: false,
        hasEnded: false,
      });
      const next = await append(history, "call", "again", { ...options, ttlMs: 60_000, id: "1" });
      expect(next.offset).toBe(1);
      expect(next.epoch).not.toBe(epoch);
    });

    test("a read returns at most as many frames and bytes as it asks for, and the next one continues", async () => {
      const { history } = await open();
      const frames = ["é".repeat(10), "b".repeat(20), "c".repeat(60), "d", "e"];
      await appendAll(history, "room", frames);
      const { epoch } = await history.top("room");
      const pages = async (limits: { maxItems: number; maxBytes: number }) => {
        const sizes: number[] = [];
        const read: string[] = [];
        for (let offset = 0, hasMore = true; hasMore; ) {
          const page = await history.read("room", { ...limits, after: { epoch, offset } });
          expect(page.isMissing).toBe(false);
          sizes.push(page.items.length);
          read.push(...framesOf(page));
          offset = page.items.at(-1)?.offset ?? offset;
          hasMore = page.hasMore;
        }
        expect(read).toEqual(frames);
        return sizes;
      };
      expect(await pages({ maxItems: 2, maxBytes: 1_000 })).toEqual([2, 2, 1]);
      expect(await pages({ maxItems: 9, maxBytes: 40 })).toEqual([2, 1, 2]);
      expect(await pages({ maxItems: 9, maxBytes: 39 })).toEqual([1, 1, 1, 2]);
      expect(await pages({ maxItems: 9, maxBytes: 1 })).toEqual([1, 1, 1, 1, 1]);
      const first = await history.read("room", { maxItems: 2, maxBytes: 1_000, last: 4 });
      expect([framesOf(first), first.hasMore]).toEqual([frames.slice(1, 3), true]);
    });

    test("a read of more frames than one step fetches returns all of them", async () => {
      const { history } = await open();
      const frames = Array.from({ length: 50 }, (_, i) => `${i}`);
      await appendAll(history, "room", frames);
      expect(framesOf(await history.read("room", { ...ALL, last: 50 }))).toEqual(frames);
    });

    test("a position of another epoch, from the future, or with an invalid offset, is missing everything", async () => {
      const { history } = await open();
      const [{ epoch } = { epoch: "" }] = await appendAll(history, "room", ["a", "b"]);
      const other = await history.top("another room");
      for (const after of [
        other,
        { epoch: "", offset: 0 },
        { epoch: "x", offset: 1 },
        { epoch, offset: 3 },
        { epoch, offset: -1 },
        { epoch, offset: 0.5 },
        { epoch, offset: Number.NaN },
      ]) {
        const page = await history.read("room", { ...ALL, after });
        expect([after, page.isMissing, framesOf(page)]).toEqual([after, true, ["a", "b"]]);
      }
    });

    test("nothing can be appended after the last frame, and of two last frames one is accepted", async () => {
      const { history, farHistory } = await open();
      await append(history, "call", "item");
      const ends = await Promise.all(
        [history, farHistory].map((end, i) =>
          end.append("call", `end ${i}`, { ...KEPT, isLast: true, id: `end ${i}` }),
        ),
      );
      expect(ends.filter(({ ok }) => ok)).toHaveLength(1);
      expect(ends.find(({ ok }) => !ok)).toMatchObject({ ok: false, error: "ENDED", retryable: false });
      expect(await history.append("call", "late", KEPT)).toMatchObject({ ok: false, error: "ENDED" });
      const won = ends.findIndex(({ ok }) => ok);
      const again = await history.append("call", "end", { ...KEPT, isLast: true, id: `end ${won}` });
      expect(again).toMatchObject({ ok: true, isRepeated: true, position: { offset: 2 } });
      const page = await farHistory.read("call", { ...ALL, last: 10 });
      expect(page).toMatchObject({ hasEnded: true, top: 2 });
      expect(framesOf(page)).toEqual(["item", `end ${won}`]);
    });

    test("a topic that was deleted has no frames, and begins a new epoch", async () => {
      const { history, farHistory } = await open();
      const before = await append(history, "room", "a", { id: "1", isLast: true });
      await farHistory.delete("room");
      await history.delete("never existed");
      expect(await history.read("room", { ...ALL, last: 5, create: false })).toMatchObject({ epoch: "" });
      const after = await append(history, "room", "b", { id: "1" });
      expect(after.offset).toBe(1);
      expect(after.epoch).not.toBe(before.epoch);
    });

    test("a read without create leaves no trace", async () => {
      const { history } = await open();
      const nothing = { epoch: "", top: 0, items: [], isMissing: false, hasMore: false, hasEnded: false };
      for (let round = 0; round < 2; round++)
        expect(await history.read("unknown", { ...ALL, last: 5, create: false })).toEqual(nothing);
    });

    test("the excluded connection is kept with the frame", async () => {
      const { far, history } = await open();
      const listener = new Listener();
      await far.subscribe("room", listener);
      await append(history, "room", "mine", { excludeClientId: "me" });
      await append(history, "room", "ours");
      await expect
        .poll(() => listener.deliveries.map(({ excludeClientId }) => excludeClientId), POLL)
        .toEqual(["me", undefined]);
      const { items } = await history.read("room", { ...ALL, last: 2 });
      expect(items.map(({ excludeClientId }) => excludeClientId)).toEqual(["me", undefined]);
    });

    test("topics with similar or unusual names have separate logs", async () => {
      const { history } = await open();
      const topics = ["a", "ab", "a:b", "A", "é", "a b", "$c/room:a%2Fb", "{a}", "a{b", "x{y}z"];
      for (const topic of topics) await append(history, topic, `to ${topic}`);
      for (const topic of topics)
        expect(framesOf(await history.read(topic, { ...ALL, last: 5 }))).toEqual([`to ${topic}`]);
    });

    test("an append with invalid options is refused", async () => {
      const { history } = await open();
      for (const options of [
        { size: 0 },
        { size: 1.5 },
        { size: Number.NaN },
        { ttlMs: 0 },
        { ttlMs: Number.POSITIVE_INFINITY },
        { id: "" },
        { id: "x".repeat(257) },
      ])
        expect(await history.append("room", "x", { ...KEPT, ...options })).toMatchObject({
          ok: false,
          error: "VALIDATION",
          retryable: false,
        });
      expect((await history.top("room")).offset).toBe(0);
    });
  });
}

function historyOf({ history }: PubSub): History {
  if (history === undefined) throw new Error("The pub/sub keeps no history.");
  return history;
}

function framesOf({ items }: HistoryPage): string[] {
  return items.map(({ frame }) => frame);
}
