import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import { expect, test, vi } from "vitest";
import type * as ws from "ws";
import { UnfinishedMessages } from "./unfinished-message.ts";
import { checkLimits, TESTED_VERSION } from "./unfinished-message-check.ts";

interface TestReceiver extends EventEmitter {
  write(chunk: Buffer): boolean;
}
type ReceiverClass = new (options: object) => TestReceiver;

const require = createRequire(import.meta.url);
const EVERY_LIMIT = "memory, time (30 s), control frames (16)";

/** The receiver of `ws` in which one member has another name. */
function receiverWithout(member: string): ReceiverClass {
  const path = require.resolve("ws").replace("index.js", "lib/receiver.js");
  const source = readFileSync(path, "utf8").replaceAll(new RegExp(`\\b${member}\\b`, "g"), `${member}2`);
  const module: { exports?: ReceiverClass } = {};
  compileFunction(source, ["module", "require"])(module, createRequire(path));
  if (module.exports === undefined) throw new Error("The receiver of ws has no export");
  return module.exports;
}

/** A WebSocket that has only a receiver. */
function websocketWith(Receiver: ReceiverClass, field = "_receiver") {
  const receiver = new Receiver({ isServer: true, maxPayload: 1_024 });
  const websocket = Object.assign(new EventEmitter(), { [field]: receiver, terminate: () => undefined });
  receiver.on("message", (data: Buffer) => websocket.emit("message", data));
  receiver.on("error", () => undefined);
  return { receiver, websocket: websocket as unknown as ws.WebSocket };
}

/** Checks the limits as two servers do; returns what was logged. */
function checkTwice(open?: () => ws.WebSocket) {
  const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
  const messages = new UnfinishedMessages(() => undefined);
  checkLimits(messages, open);
  checkLimits(messages, open);
  const logged = warn.mock.calls.map(([line]) => String(line));
  warn.mockRestore();
  return { messages, logged };
}

test("every limit holds with the installed ws, so nothing is logged", () => {
  const { version } = require("ws/package.json") as { version: string };
  const { messages, logged } = checkTwice();
  expect(logged).toEqual([]);
  expect(messages.isOn).toBe(true);
  expect(version).toBe(TESTED_VERSION);
});

test.each([
  { member: "controlMessage", missing: "control frames (16)", isOn: true },
  { member: "createError", missing: EVERY_LIMIT, isOn: false },
  { member: "_buffers", missing: EVERY_LIMIT, isOn: false },
  { member: "_fragments", missing: EVERY_LIMIT, isOn: false },
  { member: "_fragmented", missing: EVERY_LIMIT, isOn: false },
  { member: "_fin", missing: EVERY_LIMIT, isOn: false },
  { member: "dataMessage", missing: EVERY_LIMIT, isOn: false },
])("a receiver without $member: the limits that do not hold are logged once", (expected) => {
  const Receiver = receiverWithout(expected.member);
  const { messages, logged } = checkTwice(() => websocketWith(Receiver).websocket);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain(`has no limit of ${expected.missing}: `);
  expect(logged[0]).toContain(`the receiver of ws ${TESTED_VERSION}`);
  expect(messages.isOn).toBe(expected.isOn);
});

test("a WebSocket whose receiver has another name: every limit is logged as missing", () => {
  const { logged } = checkTwice(() => websocketWith(receiverWithout("nothing"), "_reader").websocket);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain(EVERY_LIMIT);
});

test("a receiver that is not known still passes messages on unchanged", async () => {
  const Receiver = receiverWithout("_fin");
  const { messages } = checkTwice(() => websocketWith(Receiver).websocket);
  const { receiver, websocket } = websocketWith(Receiver);
  messages.watch(websocket);
  const received = once(websocket, "message");
  for (const [head, text] of [
    [0x01, "a"],
    [0x80, "b"],
  ] as const)
    receiver.write(Buffer.concat([Buffer.of(head, 0x81, 0, 0, 0, 0), Buffer.from(text)]));
  expect(String((await received)[0])).toBe("ab");
});
