import { EventEmitter, once } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as ws from "ws";
import { FakeClock } from "../testing/fake-clock.ts";
import { UnfinishedMessages } from "./unfinished-message.ts";

const MAX_BYTES = 100_000;

interface TestReceiver extends EventEmitter {
  readonly _fragments: Buffer[];
  readonly _buffers: Buffer[];
  write(chunk: Buffer): boolean;
}

/** The receiver that `ws` itself uses; its types do not declare it. */
const { Receiver } = ws as unknown as {
  Receiver: new (options: object) => TestReceiver;
};

function watched() {
  const clock = new FakeClock();
  const receiver = new Receiver({ isServer: true, maxPayload: MAX_BYTES, maxFragments: 1_024 });
  const websocket = Object.assign(new EventEmitter(), { _receiver: receiver });
  const seen: string[] = [];
  receiver.on("message", (data: Buffer) => seen.push(data.toString()));
  receiver.on("ping", () => seen.push("ping"));
  receiver.on("error", (error: Error & { code: string }) => seen.push(error.code));
  let expired = 0;
  const messages = new UnfinishedMessages(() => expired++, clock);
  messages.watch(websocket as unknown as ws.WebSocket);
  websocket.on("close", () => messages.closed(websocket as unknown as ws.WebSocket));
  return { clock, receiver, websocket, seen, expired: () => expired };
}

/** A masked frame; the mask is 0. */
function frame(opcode: number, content: string | Buffer, fin = true): Buffer {
  const data = Buffer.from(content);
  const head = Buffer.alloc(data.length < 126 ? 6 : 8);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | Math.min(data.length, 126);
  if (data.length >= 126) head.writeUInt16BE(data.length, 2);
  return Buffer.concat([head, data]);
}

const PING = frame(9, "p");
const times = (count: number, part: Buffer) => Array.from({ length: count }, () => part);
/** Memory that buffers keep, which may be much more than their length. */
const keptBytes = (buffers: readonly Buffer[]) =>
  [...new Set(buffers.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);

describe("a message in fragments", () => {
  test("arrives unchanged, however it is fragmented, mixed with control frames and cut into reads", () => {
    const piece = fc.record({ text: fc.string({ maxLength: 300 }), pings: fc.nat(16) });
    const messages = fc.array(fc.array(piece, { minLength: 1, maxLength: 20 }), { maxLength: 5 });
    const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(messages, cuts, (sent, sizes) => {
        const { receiver, seen } = watched();
        const expected: string[] = [];
        const bytes: Buffer[] = [];
        for (const pieces of sent) {
          for (const [i, { text, pings }] of pieces.entries()) {
            const isLast = i === pieces.length - 1;
            bytes.push(frame(i === 0 ? 1 : 0, text, isLast), ...times(isLast ? 0 : pings, PING));
            if (!isLast) expected.push(...times(pings, PING).map(() => "ping"));
          }
          expected.push(pieces.map(({ text }) => text).join(""));
        }
        let rest = Buffer.concat(bytes);
        for (let i = 0; rest.length > 0; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          receiver.write(rest.subarray(0, size));
          rest = rest.subarray(size);
        }
        expect(seen).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  test("keeps memory in proportion to its size, and not the buffers its fragments were read into", () => {
    const { receiver, seen } = watched();
    for (let i = 0; i < 1_000; i++) {
      const read = Buffer.alloc(65_536);
      const fragment = frame(i === 0 ? 1 : 0, "a", false);
      fragment.copy(read);
      receiver.write(read.subarray(0, fragment.length));
    }
    expect(keptBytes(receiver._fragments)).toBeLessThan(3_000);
    receiver.write(frame(0, "z"));
    expect(seen).toEqual([`${"a".repeat(1_000)}z`]);
    expect(receiver._fragments).toEqual([]);
  });

  test("never keeps more than the largest message", () => {
    const { receiver } = watched();
    for (let i = 0; i < 10; i++) receiver.write(frame(i === 0 ? 1 : 0, "a".repeat(9_900), false));
    expect(keptBytes(receiver._fragments)).toBeLessThanOrEqual(MAX_BYTES);
  });

  test("fails with more than 16 control frames between two fragments", async () => {
    const { receiver, seen } = watched();
    receiver.write(Buffer.concat([frame(1, "a", false), ...times(16, PING), frame(0, "b", false)]));
    receiver.write(Buffer.concat(times(16, PING)));
    expect(seen).toEqual(times(32, PING).map(() => "ping"));
    receiver.write(PING);
    await once(receiver, "error");
    expect(seen.at(-1)).toBe("WS_ERR_TOO_MANY_BUFFERED_PARTS");
  });

  test("fails with more than 1,024 fragments", async () => {
    const { receiver, seen } = watched();
    receiver.write(Buffer.concat([frame(1, "a", false), ...times(1_023, frame(0, "a", false))]));
    expect(seen).toEqual([]);
    receiver.write(frame(0, "a", false));
    await once(receiver, "error");
    expect(seen).toEqual(["WS_ERR_TOO_MANY_BUFFERED_PARTS"]);
  });
});

test("a frame that arrives byte by byte is kept in a few buffers", () => {
  const { receiver, seen } = watched();
  const text = "x".repeat(5_000);
  for (const byte of frame(1, text)) receiver.write(Buffer.from([byte]));
  expect(seen).toEqual([text]);
  const again = frame(1, text).subarray(0, 4_000);
  for (const byte of again) {
    receiver.write(Buffer.from([byte]));
    expect(receiver._buffers.length).toBeLessThanOrEqual(65);
  }
});

describe("a message that is not finished within 30 s", () => {
  test.each([
    { what: "whose fragments keep coming", part: frame(0, "a", false), first: frame(1, "a", false) },
    {
      what: "whose only frame keeps coming",
      part: Buffer.from("a"),
      first: frame(1, "a".repeat(9_000)).subarray(0, 99),
    },
    { what: "of which only the first byte came", part: Buffer.alloc(0), first: Buffer.from([0x81]) },
  ])("expires, $what", async ({ first, part }) => {
    const { clock, receiver, expired } = watched();
    receiver.write(first);
    for (let elapsedMs = 0; elapsedMs < 29_000; elapsedMs += 1_000) {
      await clock.advance(1_000);
      if (part.length > 0) receiver.write(part);
    }
    expect(expired()).toBe(0);
    await clock.advance(2_000);
    expect(expired()).toBe(1);
    await clock.advance(60_000);
    expect(expired()).toBe(1);
  });

  test("does not expire when messages follow each other without a pause, each cut by a read", async () => {
    const { clock, receiver, expired, seen } = watched();
    const message = frame(1, "a".repeat(500));
    receiver.write(message.subarray(0, 100));
    for (let second = 0; second < 100; second++) {
      await clock.advance(1_000);
      receiver.write(Buffer.concat([message.subarray(100), PING, message.subarray(0, 100)]));
    }
    expect(seen).toHaveLength(200);
    expect(expired()).toBe(0);
  });

  test("needs no timer once every message is finished or its peer is gone", async () => {
    const { clock, receiver, websocket, expired } = watched();
    receiver.write(frame(1, "a", false));
    receiver.write(frame(0, "b"));
    await clock.advance(2_000);
    expect(clock.pendingTimers).toBe(0);
    receiver.write(frame(1, "a", false));
    websocket.emit("close");
    await clock.advance(60_000);
    expect(expired()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
