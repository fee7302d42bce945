import { expect, test } from "vitest";
import { packMessages } from "./bus.ts";

const bytes = (text: string) => new TextEncoder().encode(text).length;

test("items that fit go out in one message", () => {
  expect(packMessages([1, 2, 3], JSON.stringify)).toEqual(["[1,2,3]"]);
});

test.for(["x", "€"])(
  "more items are split, none is lost, and no message has more than 6,000 bytes: %s",
  (letter) => {
    const items = Array.from({ length: 500 }, (_, index) => `${index}`.padEnd(90, letter));
    const messages = packMessages(items, JSON.stringify);
    expect(Math.max(...messages.map(bytes))).toBeLessThanOrEqual(6000);
    expect(messages.flatMap((message) => JSON.parse(message))).toEqual(items);
  },
);
