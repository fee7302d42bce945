import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeardPositions, PublishedPositions } from "./positions.ts";

describe("positions", () => {
  test("of messages that all arrive say that nothing is missing", () => {
    const [published, heard] = [new PublishedPositions(), new HeardPositions()];
    for (let i = 0; i < 5; i++) {
      const { sequence, previous } = published.next("t");
      published.accepted("t", sequence, i);
      published.next("other");
      expect(heard.hear("p", sequence, previous)).toBe(i === 0 ? "first" : "next");
    }
  });

  test("tell a hole before the message that follows it, and a repetition", () => {
    const heard = new HeardPositions();
    expect(heard.hear("p", 5, 3)).toBe("first");
    expect(heard.hear("p", 9, 7)).toBe("hole");
    expect(heard.hear("p", 9, 7)).toBe("repeated");
    expect(heard.hear("p", 7, 5)).toBe("repeated");
    expect(heard.hear("another", 1, 0)).toBe("first");
    heard.clear();
    expect(heard.hear("p", 20, 19)).toBe("first");
  });

  test("name what was accepted lately, for marks", () => {
    const published = new PublishedPositions();
    for (const [topic, at] of [
      ["old", 100],
      ["new", 900],
      ["failed", 0],
    ] as const) {
      const { sequence } = published.next(topic);
      if (topic === "failed") published.failed(topic, sequence);
      else published.accepted(topic, sequence, at);
    }
    expect([...published.since(500)]).toEqual([{ topic: "new", accepted: 2, acceptedAt: 900 }]);
  });

  test("find what is lost behind one that failed, or was withdrawn, before it was answered", () => {
    const published = new PublishedPositions();
    const heard = new HeardPositions();
    const first = published.next("t");
    heard.hear("p", first.sequence, first.previous);
    published.accepted("t", first.sequence, 0);
    published.failed("t", published.next("t").sequence);
    const lost = published.next("t");
    published.withdrawn("t", published.next("t").previous);
    const last = published.next("t");
    expect(last.previous).toBe(lost.sequence);
    expect(heard.hear("p", last.sequence, last.previous)).toBe("hole");
  });

  test("announce exactly the accepted messages that did not arrive, whatever is lost, refused or both", () => {
    const step = fc.record({
      topic: fc.constantFrom("a", "b"),
      /** What the publisher is told, and what becomes of the message. */
      isAccepted: fc.boolean(),
      arrives: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const published = new PublishedPositions();
        const heard = { a: new HeardPositions(), b: new HeardPositions() };
        const isHole = { a: false, b: false };
        const hasHeard = { a: false, b: false };
        for (const { topic, isAccepted, arrives } of steps) {
          const { sequence, previous } = published.next(topic);
          if (isAccepted) published.accepted(topic, sequence, 0);
          else published.failed(topic, sequence);
          if (arrives) {
            const expected = isHole[topic] ? "hole" : "next";
            expect(heard[topic].hear("p", sequence, previous)).toBe(hasHeard[topic] ? expected : "first");
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
