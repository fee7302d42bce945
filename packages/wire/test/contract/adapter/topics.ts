/** Pub/sub over real sockets. */
import { describe, expect, test } from "vitest";
import { type Frame, greeted, type Peer } from "./peer.ts";
import { POLL, readLog, type Suite } from "./suite.ts";

export function topicTests(suite: Suite): void {
  const open = suite.serving("open");
  let topics = 0;
  /** Fresh, because all tests of a platform share a server. */
  const freshTopic = () => `topic-${++topics}`;
  const heard = (peer: Peer) =>
    peer.frames
      .filter(({ type }) => type === "HEARD")
      .map(({ payload }) => (payload as { text: string }).text);
  const counted = ({ payload }: Frame) => (payload as { matchedLocal: number }).matchedLocal;

  describe("topics", () => {
    const join = () => greeted(open().url);

    test("a publish reaches every subscriber, the publisher too, and nobody else", async () => {
      const topic = freshTopic();
      const [ada, ben, eve] = await Promise.all([join(), join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      expect(counted(await ada.request("SHOUT", { topic, text: "hi" }))).toBe(2);
      expect(await ben.next("HEARD")).toMatchObject({
        payload: { topic, text: "hi" },
        meta: { timestamp: expect.any(Number) },
      });
      await eve.request("GREET", { name: "Eve" });
      expect([heard(ada), heard(ben), heard(eve)]).toEqual([["hi"], ["hi"], []]);
    });

    test("excludeSelf leaves the publisher out", async () => {
      const topic = freshTopic();
      const [ada, ben] = await Promise.all([join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      expect(counted(await ada.request("SHOUT", { topic, text: "psst", excludeSelf: true }))).toBe(1);
      await ben.next("HEARD");
      await ada.request("GREET", { name: "Ada" });
      expect([heard(ada), heard(ben)]).toEqual([[], ["psst"]]);
    });

    test("subscribing twice is one subscription, and one unsubscribe ends it", async () => {
      const topic = freshTopic();
      const ada = await join();
      await ada.request("JOIN", { topic });
      expect((await ada.request("JOIN", { topic })).payload).toEqual({ topics: [topic] });
      expect(counted(await ada.request("SHOUT", { topic, text: "1" }))).toBe(1);
      expect((await ada.request("LEAVE", { topic })).payload).toEqual({ topics: [] });
      expect(counted(await ada.request("SHOUT", { topic, text: "2" }))).toBe(0);
      expect(heard(ada)).toEqual(["1"]);
    });

    test("a connection that is gone counts no more", async () => {
      const topic = freshTopic();
      const [ada, ben] = await Promise.all([join(), join()]);
      await ada.request("JOIN", { topic });
      await ben.request("JOIN", { topic });
      await ben.close();
      await expect.poll(async () => counted(await ada.request("SHOUT", { topic, text: "x" }))).toBe(1);
    });

    test("what is published to several topics and what is sent directly arrive in the order of the calls", async () => {
      const peer = await join();
      const topics = [freshTopic(), freshTopic(), freshTopic()];
      for (const topic of topics) await peer.request("JOIN", { topic });
      await peer.request("MIX", { topics, rounds: 100 });
      const texts = peer.frames
        .filter(({ type }) => type === "NOTE")
        .map(({ payload }) => (payload as { text: string }).text);
      expect(texts).toEqual(Array.from({ length: 400 }, (_, i) => String(i)));
    });

    test("each subscriber sees one publisher's messages in order", async () => {
      const topic = freshTopic();
      const [ada, ...rest] = await Promise.all([join(), join(), join(), join()]);
      for (const peer of rest) await peer.request("JOIN", { topic });
      const texts = Array.from({ length: 200 }, (_, i) => String(i));
      await Promise.all(texts.map((text) => ada.request("SHOUT", { topic, text })));
      for (const peer of rest) {
        await peer.request("GREET", { name: "end" });
        expect(heard(peer)).toEqual(texts);
      }
    });
  });

  if (suite.can.backpressure)
    describe("a peer that reads too slowly", () => {
      const server = suite.serving("tight");

      test("misses messages, but never unnoticed: a $ws:gap comes before what follows the hole", async () => {
        const topic = freshTopic();
        const slow = await greeted(server().url);
        const quick = await greeted(server().url);
        await slow.request("JOIN", { topic });
        slow.pause();
        // More than the limit and the system's own buffers together.
        for (let round = 0; round < 400; round++) {
          quick.send("BURST", { topic, from: round * 4, frames: 4, bytes: 8_000 });
          await quick.request("GREET", { name: "x" });
        }
        slow.resume();
        const end = await Promise.race([slow.request("GREET", { name: "x" }), slow.closed]);
        if ("type" in end) {
          expect(unannouncedHoles(slow.frames, 1_600)).toEqual([]);
          expect(slow.frames.some(({ type }) => type === "$ws:gap")).toBe(true);
        } else {
          // An engine that publishes by itself may cut off a peer before we can shed for it: a loss that is noticed, too.
          const log = await readLog(server().url, slow.clientId);
          expect(log.at(-1)).toMatchObject({ what: "router close", code: 1013 });
          expect(unannouncedHoles(slow.frames, heard(slow).length)).toEqual([]);
        }
        expect(await quick.request("GREET", { name: "x" })).toMatchObject({ type: "GREETING" });
      });

      test("is told of the gap also when all that was shed came in one turn", async () => {
        const topic = freshTopic();
        const peer = await greeted(server().url);
        await peer.request("JOIN", { topic });
        peer.send("BURST", { topic, from: 0, frames: 100, bytes: 9_000 });
        await expect.poll(() => unannouncedHoles(peer.frames, 100), POLL).toEqual([]);
      });
    });
}

/** Numbers that are missing though no gap was announced since the one before. */
function unannouncedHoles(frames: readonly Frame[], count: number): number[] {
  const holes: number[] = [];
  let next = 0;
  let announced = false;
  for (const { type, payload } of frames) {
    if (type === "$ws:gap") announced = true;
    if (type !== "HEARD") continue;
    const at = Number.parseInt((payload as { text: string }).text, 10);
    if (at !== next && !announced) holes.push(next);
    next = at + 1;
    announced = false;
  }
  return next === count || announced ? holes : [...holes, next];
}
