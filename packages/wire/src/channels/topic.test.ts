import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { channel as anyChannel } from "../index.ts";
import { channel, message, z } from "../zod.ts";
import { checkParams, topicOf } from "./topic.ts";

const Said = message("SAID", { text: z.string() });
const value = z.union([z.string(), z.number()]);
const Pair = channel("pair:{a}:{b}", { params: { a: value, b: value }, events: [Said] });
const nameOf = (params: unknown) => topicOf(Pair, checkParams(Pair, params));

describe("the topic of a channel", () => {
  test("is the same for equal parameters, and differs for different ones", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 });
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        const isEqual = a === c && b === d;
        expect(nameOf({ a, b }) === nameOf({ b: d, a: c })).toBe(isEqual);
      }),
    );
  });

  test("has no characters that a broker interprets", () => {
    expect(nameOf({ a: "{x}/>", b: "ü *" })).toBe("$c/pair:*:*/%7Bx%7D%2F%3E/%C3%BC%20*");
  });

  test("of more than 1,024 characters is refused", () => {
    expect(() => nameOf({ a: "x".repeat(1_100), b: "" })).toThrow(/longer than 1024/);
  });
});

test("parameters for which a check of their schema throws are refused, and the process goes on", async () => {
  const unhandled: unknown[] = [];
  const collect = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", collect);
  const params = z.object({ id: z.string().refine((text) => BigInt(text) > 0n) });
  const Positive = anyChannel("positive:{id}", { params, events: [Said] });
  expect(checkParams(Positive, { id: "5" })).toEqual({ id: "5" });
  expect(() => checkParams(Positive, { id: "five" })).toThrow(/or a check in it throws/);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", collect);
  expect(unhandled).toEqual([]);
});

describe("channel()", () => {
  const events = [Said];
  test.each([
    ["a name with a slash", () => channel("a/b", { events })],
    ["an unclosed brace", () => channel("room:{id", { events })],
    ["a parameter twice", () => channel("{a}:{a}", { params: { a: z.string() }, events })],
    ["a parameter without a schema", () => channel("room:{id}", { events })],
    ["a schema without a parameter", () => channel("room", { params: { id: z.string() } as never, events })],
    ["no events", () => channel("room", {} as never)],
    ["an event that is no schema", () => channel("room", { events: ["SAID"] as never })],
    ["an unknown option", () => channel("room", { events, evens: 1 } as never)],
    ["a history without a size", () => channel("room", { events, history: { ttlMs: 1 } as never })],
    ["a parameter without a JSON form", () => channel("{at}", { params: { at: z.date() } as never, events })],
  ])("refuses %s", (_, declare) => {
    expect(declare).toThrow(TypeError);
  });

  test("accepts a channel without parameters", () => {
    const Lobby = channel("lobby", { events });
    expect(topicOf(Lobby, checkParams(Lobby, {}))).toBe("$c/lobby");
    expect(() => checkParams(Lobby, { id: "x" })).toThrow(/no parameters/);
  });
});
