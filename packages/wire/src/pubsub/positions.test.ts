import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PublishedPositions, ReceivedPositions } from "./positions.ts";

const P = 1;
const HOUR_MS = 60 * 60_000;

describe("positions", () => {
  test("report no gap when all messages arrive", () => {
    const [published, heard] = [new PublishedPositions(), new ReceivedPositions()];
    for (let i = 0; i < 5; i++) {
      const { place, sequence, previous } = published.next("t", i);
      published.accepted(place, sequence);
      published.next("other", i);
      expect(heard.receive(P, sequence, previous)).toBe(i === 0 ? "first" : "next");
    }
  });

  test("report a gap before the next message, and a duplicate", () => {
    const heard = new ReceivedPositions();
    expect(heard.receive(P, 5, 3)).toBe("first");
    expect(heard.receive(P, 9, 7)).toBe("gap");
    expect(heard.receive(P, 9, 7)).toBe("repeated");
    expect(heard.receive(P, 7, 5)).toBe("repeated");
    expect(heard.receive(2, 1, 0)).toBe("first");
  });

  test("number messages by the publisher's clock in µs, and upwards when many are sent at the same time", () => {
    const published = new PublishedPositions();
    expect([0, 0, 1.5, 1.5].map((now) => published.next("t", now).sequence)).toEqual([1, 2, 1_500, 1_501]);
  });

  test("name the last accepted message of each topic for marks", () => {
    const published = new PublishedPositions();
    for (const [topic, at] of [
      ["old", 100],
      ["new", 900],
      ["failed", 950],
    ] as const) {
      const { place, sequence } = published.next(topic, at);
      if (topic === "failed") published.failed(place, sequence);
      else published.accepted(place, sequence);
    }
    expect([...published]).toEqual([
      { topic: "old", accepted: 100_000 },
      { topic: "new", accepted: 900_000 },
      { topic: "failed", accepted: 0 },
    ]);
  });

  test("detect a loss behind a message that failed or was withdrawn before it settled", () => {
    const published = new PublishedPositions();
    const heard = new ReceivedPositions();
    const first = published.next("t", 0);
    heard.receive(P, first.sequence, first.previous);
    published.accepted(first.place, first.sequence);
    published.failed(first.place, published.next("t", 0).sequence);
    const lost = published.next("t", 0);
    published.withdrawn(first.place, published.next("t", 0).previous);
    const last = published.next("t", 0);
    expect(last.previous).toBe(lost.sequence);
    expect(heard.receive(P, last.sequence, last.previous)).toBe("gap");
  });

  test("detect a loss on one of any number of topics that a process publishes to", () => {
    const [published, heard] = [new PublishedPositions(), new ReceivedPositions()];
    const first = published.next("busy", 0);
    heard.receive(P, first.sequence, first.previous);
    published.next("busy", 1);
    for (let i = 0; i < 250_000; i++) published.next(`topic ${i}`, 2);
    const last = published.next("busy", 3);
    expect(heard.receive(P, last.sequence, last.previous)).toBe("gap");
  });

  test("of topics that are long unused are dropped above 100,000, and their next message reports a gap in doubt", () => {
    const [published, heard] = [new PublishedPositions(), new ReceivedPositions()];
    for (let i = 0; i < 50_000; i++) published.next(`used once ${i}`, 0);
    const first = published.next("rare", 1);
    heard.receive(P, first.sequence, first.previous);
    for (let i = 50_000; i < 100_000; i++) published.next(`used once ${i}`, 2);
    for (let i = 0; i < 101_000; i++) published.next(`later ${i}`, 2 * HOUR_MS);
    expect([...published].length).toBeLessThan(101_100);
    const last = published.next("rare", 3 * HOUR_MS);
    expect(last.previous).toBeGreaterThanOrEqual(first.sequence);
    expect(heard.receive(P, last.sequence, last.previous)).toBe("gap");
  });

  test("are kept for any number of publishers, and removed for those that are gone", () => {
    const ids = fc.uniqueArray(fc.nat({ max: 5_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(ids, ids, (heard, gone) => {
        const positions = new ReceivedPositions();
        for (const id of heard) expect(positions.receive(id + 1, 10, 0)).toBe("first");
        for (const id of heard) expect(positions.receive(id + 1, 20, 10)).toBe("next");
        positions.remove(new Set(gone.map((id) => id + 1)));
        expect(positions.size).toBe(heard.filter((id) => !gone.includes(id)).length);
        for (const id of heard)
          expect(positions.receive(id + 1, 30, 20)).toBe(gone.includes(id) ? "first" : "next");
      }),
    );
  });

  test("announce exactly the accepted messages that did not arrive, for any losses and refusals", () => {
    const step = fc.record({
      topic: fc.constantFrom("a", "b"),
      /** The result that the publisher receives, and whether the message arrives. */
      isAccepted: fc.boolean(),
      arrives: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const published = new PublishedPositions();
        const heard = { a: new ReceivedPositions(), b: new ReceivedPositions() };
        const isHole = { a: false, b: false };
        const hasHeard = { a: false, b: false };
        for (const { topic, isAccepted, arrives } of steps) {
          const { place, sequence, previous } = published.next(topic, 0);
          if (isAccepted) published.accepted(place, sequence);
          else published.failed(place, sequence);
          if (arrives) {
            const expected = isHole[topic] ? "gap" : "next";
            expect(heard[topic].receive(P, sequence, previous)).toBe(hasHeard[topic] ? expected : "first");
            isHole[topic] = false;
            hasHeard[topic] = true;
          } else if (isAccepted) {
            isHole[topic] = true;
          }
        }
      }),
    );
  });
});
