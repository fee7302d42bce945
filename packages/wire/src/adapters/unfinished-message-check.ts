/**
 * Tries the limits of `unfinished-message.ts` on WebSockets without a peer, because they rely on private members of `ws`,
 * which another version may not have.
 */

import { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { Duplex, type Writable } from "node:stream";
import { ignore } from "@halyard/base";
import { type WebSocket, WebSocketServer } from "ws";
import { logMissingLimits } from "./notices.ts";
import {
  CHECK_MS,
  MAX_CONTROL_FRAMES,
  MAX_MESSAGE_MS,
  MAX_PARTS,
  type Receiver,
  receiverOf,
  UnfinishedMessages,
} from "./unfinished-message.ts";

/** The version of `ws` that the tests use. */
export const TESTED_VERSION = "8.22.2";

const LIMITS = {
  memory: "memory",
  time: `time (${MAX_MESSAGE_MS / 1_000} s)`,
  controlFrames: `control frames (${MAX_CONTROL_FRAMES})`,
};

/** What one read of a socket usually keeps in memory. */
const READ_BYTES = 65_536;
const MASKED_HEADER_BYTES = 6;
const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;

interface Outcome {
  /** Whether messages arrive unchanged and finished ones do not expire. */
  readonly isSafe: boolean;
  /** The limits that do not hold. */
  readonly missing: readonly string[];
}

/** Tries the limits once, and warns when some do not hold with the installed `ws`. */
export function checkLimits(messages: UnfinishedMessages, open: () => WebSocket = openUnused): void {
  if (messages.isOn !== undefined) return;
  const { isSafe, missing } = tryLimits(open);
  messages.isOn = isSafe;
  if (missing.length > 0) logMissingLimits(missing, installedVersion(), TESTED_VERSION);
}

function installedVersion(): string {
  try {
    return String((createRequire(import.meta.url)("ws/package.json") as { version?: unknown }).version);
  } catch {
    return "(unknown version)";
  }
}

function tryLimits(open: () => WebSocket): Outcome {
  const websockets: WebSocket[] = [];
  const openTrial = (): Trial => {
    const websocket = open();
    websockets.push(websocket);
    return new Trial(websocket);
  };
  try {
    const message = tryMessages(openTrial());
    const controlFrames = tryControlFrames(openTrial());
    if (message.isSafe && controlFrames.isSafe)
      return { isSafe: true, missing: [...message.missing, ...controlFrames.missing] };
  } catch {
    // A member that `unfinished-message.ts` uses is missing.
  } finally {
    for (const websocket of websockets) websocket.terminate();
  }
  return { isSafe: false, missing: Object.values(LIMITS) };
}

/** Two messages in fragments, each in a read of its own; then one that arrives byte by byte. */
function tryMessages(trial: Trial): Outcome {
  trial.receive(frame(TEXT, "a", false));
  trial.receive(frame(CONTINUATION, "b", false));
  const isCopied = bytesKept(trial.receiver._fragments) < READ_BYTES;
  trial.wait(MAX_MESSAGE_MS + CHECK_MS);
  const hasExpired = trial.expired === 1;
  trial.receive(frame(CONTINUATION, "c", true));
  trial.receive(frame(TEXT, "d", false));
  trial.receive(frame(CONTINUATION, "e", true));
  const long = "f".repeat(MAX_PARTS + 10);
  let parts = 0;
  for (const byte of frame(TEXT, long, true)) {
    trial.receive(Buffer.of(byte));
    parts = Math.max(parts, trial.receiver._buffers.length);
  }
  trial.wait(MAX_MESSAGE_MS + CHECK_MS);
  const isUnchanged = trial.received.join() === `abc,de,${long}`;
  return {
    isSafe: isUnchanged && trial.expired <= 1,
    missing: [
      ...(isCopied && parts <= MAX_PARTS ? [] : [LIMITS.memory]),
      ...(hasExpired ? [] : [LIMITS.time]),
    ],
  };
}

/** Fragments, each followed by as many control frames as are allowed; then one more. */
function tryControlFrames(trial: Trial): Outcome {
  const ping = frame(PING, "", true);
  for (const opcode of [TEXT, CONTINUATION]) {
    trial.receive(frame(opcode, "a", false));
    for (let count = 0; count < MAX_CONTROL_FRAMES; count++) trial.receive(ping);
  }
  const isSafe = trial.receiver.errored === null;
  trial.receive(ping);
  const isRefused = trial.receiver.errored !== null;
  return { isSafe, missing: isRefused ? [] : [LIMITS.controlFrames] };
}

/** A watched WebSocket with a clock of its own. */
class Trial {
  readonly receiver: Receiver & Writable;
  readonly received: string[] = [];
  expired = 0;
  #now = 0;
  #check: () => void = ignore;

  constructor(websocket: WebSocket) {
    const messages = new UnfinishedMessages(() => this.expired++, {
      now: () => this.#now,
      setTimeout: (callback) => {
        this.#check = callback;
      },
    });
    websocket.on("message", (data) => this.received.push(String(data)));
    websocket.on("error", ignore);
    messages.watch(websocket);
    this.receiver = receiverOf(websocket) as unknown as Receiver & Writable;
  }

  receive(bytes: Buffer): void {
    this.receiver.write(bytes);
  }

  wait(delayMs: number): void {
    this.#now += delayMs;
    const check = this.#check;
    this.#check = ignore;
    check();
  }
}

function bytesKept(buffers: readonly Buffer[]): number {
  const kept = new Set(buffers.map(({ buffer }) => buffer));
  return [...kept].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** A frame of a client, in a read of its own. Its mask is 0, so the text is sent as it is. */
function frame(opcode: number, text: string, isLast: boolean): Buffer {
  const read = Buffer.alloc(READ_BYTES);
  read[0] = (isLast ? 0x80 : 0) | opcode;
  read[1] = 0x80 | text.length;
  return read.subarray(0, MASKED_HEADER_BYTES + read.write(text, MASKED_HEADER_BYTES));
}

/** Opens a WebSocket as for a client, over a stream that has no other end. */
function openUnused(): WebSocket {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 1_024 });
  const stream = new Duplex({ read: ignore, write: (_chunk, _encoding, done) => done() });
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  request.headers = {
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const opened: WebSocket[] = [];
  server.handleUpgrade(request, stream, Buffer.alloc(0), (websocket) => opened.push(websocket));
  const [websocket] = opened;
  if (websocket === undefined) throw new Error("the WebSocket was not opened at once");
  return websocket;
}
