/** Pub/sub over real sockets. */
import { describe, expect, test } from "vitest";
import { type Frame, greeted, type Peer } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function topicTests(suite: Suite): void {
  const open = suite.serving("open");
  let topics = 0;
  /** A new topic, because all tests of a platform share a server. */
  const freshTopic = () => `topic-${++topics}`;
  const textsOf = (peer: Peer) =>
    peer.frames
      .filter(({ type }) => type === "DELIVERED")
      .map(({ payload }) => (payload as { text: string }).text);
  const counted = ({ payload }: Frame) => (payload as { matchedLocal: number }).matchedLocal;

  describe("a publish", () => {
    const join = () => greeted(open().url);

    test("reaches every subscriber, including the publisher, and no other connection", async () => {
      const topic = freshTopic();
      const [ada, ben, eve] = await Promise.all([join(), join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      expect(counted(await ada.request("SHOUT", { topic, text: "hi" }))).toBe(2);
      expect(await ben.next("DELIVERED")).toMatchObject({
        payload: { topic, text: "hi" },
        meta: { timestamp: expect.any(Number) },
      });
      await eve.request("GREET", { name: "Eve" });
      expect([textsOf(ada), textsOf(ben), textsOf(eve)]).toEqual([["hi"], ["hi"], []]);
    });

    test("with excludeSelf does not reach the publisher", async () => {
      const topic = freshTopic();
      const [ada, ben] = await Promise.all([join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      expect(counted(await ada.request("SHOUT", { topic, text: "psst", excludeSelf: true }))).toBe(1);
      await ben.next("DELIVERED");
      await ada.request("GREET", { name: "Ada" });
      expect([textsOf(ada), textsOf(ben)]).toEqual([[], ["psst"]]);
    });

    test("reaches a connection that subscribed twice once, and one unsubscribe ends it", async () => {
      const topic = freshTopic();
      const ada = await join();
      await ada.request("JOIN", { topic });
      expect((await ada.request("JOIN", { topic })).payload).toEqual({ topics: [topic] });
      expect(counted(await ada.request("SHOUT", { topic, text: "1" }))).toBe(1);
      expect((await ada.request("LEAVE", { topic })).payload).toEqual({ topics: [] });
      expect(counted(await ada.request("SHOUT", { topic, text: "2" }))).toBe(0);
      expect(textsOf(ada)).toEqual(["1"]);
    });

    test("does not count a closed connection", async () => {
      const topic = freshTopic();
      const [ada, ben] = await Promise.all([join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      await ben.close();
      await expect.poll(async () => counted(await ada.request("SHOUT", { topic, text: "x" }))).toBe(1);
    });

    test("to several topics and a direct send arrive in the order of the calls", async () => {
      const peer = await join();
      const topics = [freshTopic(), freshTopic(), freshTopic()];
      for (const topic of topics) await peer.request("JOIN", { topic });
      await peer.request("MIX", { topics, rounds: 100 });
      const texts = peer.frames
        .filter(({ type }) => type === "NOTE")
        .map(({ payload }) => (payload as { text: string }).text);
      expect(texts).toEqual(Array.from({ length: 400 }, (_, i) => String(i)));
    });

    test("reaches each subscriber in the order of its publisher", async () => {
      const topic = freshTopic();
      const [ada, ...rest] = await Promise.all([join(), join(), join(), join()]);
      for (const peer of rest) await peer.request("JOIN", { topic });
      const texts = Array.from({ length: 200 }, (_, i) => String(i));
      await Promise.all(texts.map((text) => ada.request("SHOUT", { topic, text })));
      for (const peer of rest) {
        await peer.request("GREET", { name: "end" });
        expect(textsOf(peer)).toEqual(texts);
      }
    });
  });

  if (suite.can.backpressure)
    describe("a peer that reads too slowly", () => {
      const server = suite.serving("tight");

      test("misses messages only with a $ws:gap before the next message", async () => {
        const topic = freshTopic();
        const slow = await greeted(server().url);
        const quick = await greeted(server().url);
        await slow.request("JOIN", { topic });
        slow.pause();
        // More than the limit and the operating system's buffers together.
        for (let round = 0; round < 400; round++) {
          quick.send("BURST", { topic, from: round * 4, frames: 4, bytes: 8_000 });
          await quick.request("GREET", { name: "x" });
        }
        let isClosed = false;
        void slow.closed.then(() => {
          isClosed = true;
        });
        slow.resume();
        await Promise.race([slow.request("GREET", { name: "x" }), slow.closed]);
        // The gap follows when the buffer has drained, which may be after the response. An engine with its own publish may
        // buffer twice the limit before the router can drop a message: the close that follows is noticed too.
        const isAnnounced = () => unannouncedGaps(slow.frames, 1_600).length === 0;
        await expect.poll(() => isClosed || isAnnounced(), POLL).toBe(true);
        if (isClosed) {
          const log = await readLog(server().url, slow.clientId);
          expect(log.at(-1)).toMatchObject({ what: "router close", code: 1013 });
          expect(unannouncedGaps(slow.frames, textsOf(slow).length)).toEqual([]);
        } else expect(slow.frames.some(({ type }) => type === "$ws:gap")).toBe(true);
        expect(await quick.request("GREET", { name: "x" })).toMatchObject({ type: "GREETING" });
      });

      test("receives the gap also when all dropped messages were published in one turn", async () => {
        const topic = freshTopic();
        const peer = await greeted(server().url);
        await peer.request("JOIN", { topic });
        peer.send("BURST", { topic, from: 0, frames: 100, bytes: 9_000 });
        await expect.poll(() => unannouncedGaps(peer.frames, 100), POLL).toEqual([]);
      });
    });
}

/** Missing numbers without a gap announced since the previous message. */
function unannouncedGaps(frames: readonly Frame[], count: number): number[] {
  const missed: number[] = [];
  let next = 0;
  let announced = false;
  for (const { type, payload } of frames) {
    if (type === "$ws:gap") announced = true;
    if (type !== "DELIVERED") continue;
    const at = Number.parseInt((payload as { text: string }).text, 10);
    if (at !== next && !announced) missed.push(next);
    next = at + 1;
    announced = false;
  }
  return next === count || announced ? missed : [...missed, next];
}
