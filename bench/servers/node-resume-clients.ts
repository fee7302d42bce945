/**
 * A program with many raw connections to `node-resume.ts`. All join at positions spread over the kept messages, then one
 * message after the other is published. Prints the deliveries per second and the server's CPU time for both.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

const [port = 0, pid = 0, connections = 0, rooms = 0, kept = 0, fanOutSeconds = 1] = process.argv
  .slice(2)
  .map(Number);
const OPENING_AT_ONCE = 200;
const TICK_US = 10_000;
/** The text of a frame begins with `{"type":"`; a control type follows with `$`. */
const TYPE_AT = 9;
const CONTROL = "$".charCodeAt(0);

/** Reads the frames of a server: counts messages, and passes control frames on. */
class Peer {
  readonly #socket: Socket;
  #waiting: Buffer | undefined;
  messages = 0;
  onMessages: (count: number) => void = () => undefined;
  onControl: (frame: { type: string; payload?: unknown }) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => {
      throw error;
    });
  }

  static open(): Promise<Peer> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("error", reject);
      socket.write(
        `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: halyard.v1.json\r\n\r\n`,
      );
      let head = Buffer.alloc(0);
      const readHead = (chunk: Buffer): void => {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf("\r\n\r\n");
        if (end === -1) return;
        socket.off("data", readHead);
        socket.off("error", reject);
        if (!head.toString("latin1", 0, 12).endsWith("101"))
          return reject(new Error("The upgrade was refused."));
        const peer = new Peer(socket);
        peer.#read(head.subarray(end + 4));
        resolve(peer);
      };
      socket.on("data", readHead);
    });
  }

  send(type: string, payload: unknown, correlationId: string): void {
    const text = Buffer.from(JSON.stringify({ type, meta: { correlationId }, payload }));
    // A mask of zeros leaves the text as it is.
    const header = Buffer.alloc(8);
    header[0] = 0x81;
    header[1] = 0x80 | 126;
    header.writeUInt16BE(text.length, 2);
    this.#socket.write(Buffer.concat([header, text]));
  }

  #read(chunk: Buffer): void {
    const bytes = this.#waiting === undefined ? chunk : Buffer.concat([this.#waiting, chunk]);
    this.#waiting = undefined;
    let at = 0;
    let count = 0;
    while (at < bytes.length) {
      const start = at + 2 + (bytes[at + 1] === 126 ? 2 : bytes[at + 1] === 127 ? 8 : 0);
      if (start > bytes.length) break;
      const short = bytes[at + 1] ?? 0;
      const length =
        short === 126
          ? bytes.readUInt16BE(at + 2)
          : short === 127
            ? Number(bytes.readBigUInt64BE(at + 2))
            : short;
      const end = start + length;
      if (end > bytes.length) break;
      if ((bytes[at] ?? 0) === 0x81) {
        if (bytes[start + TYPE_AT] === CONTROL)
          this.onControl(JSON.parse(bytes.toString("utf8", start, end)));
        else if (bytes.toString("latin1", start + TYPE_AT, start + TYPE_AT + 4) === "SAID") count++;
      }
      at = end;
    }
    if (at < bytes.length) this.#waiting = Buffer.from(bytes.subarray(at));
    this.messages += count;
    if (count > 0) this.onMessages(count);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The CPU time of the server so far, in µs. */
function cpuUs(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

interface Result {
  readonly deliveries: number;
  readonly wallUs: number;
  readonly cpuUs: number;
}

async function timed(deliver: () => Promise<number>): Promise<Result> {
  const [cpuBefore, startedAt] = [cpuUs(), performance.now()];
  const deliveries = await deliver();
  return { deliveries, wallUs: (performance.now() - startedAt) * 1_000, cpuUs: cpuUs() - cpuBefore };
}

/** The epoch of each channel, from a connection of its own: a connection may have few channels. */
async function epochs(): Promise<string[]> {
  const found: string[] = [];
  while (found.length < rooms) {
    const peer = await Peer.open();
    const params = { id: String(found.length) };
    const epoch = await new Promise<string>((resolve, reject) => {
      peer.onControl = ({ type, payload }) => {
        if (type === "$ws:joined") resolve((payload as { position: { epoch: string } }).position.epoch);
        if (type === "$ws:error") reject(new Error(`A join failed: ${JSON.stringify(payload)}.`));
      };
      peer.send("$ws:join", { channel: "room:{id}", params }, "j");
    });
    found.push(epoch);
    peer.close();
  }
  return found;
}

async function openAll(): Promise<Peer[]> {
  const peers: Peer[] = [];
  while (peers.length < connections) {
    const more = Math.min(OPENING_AT_ONCE, connections - peers.length);
    peers.push(...(await Promise.all(Array.from({ length: more }, () => Peer.open()))));
  }
  return peers;
}

function replay(peers: readonly Peer[], epochOf: readonly string[]): Promise<number> {
  let expected = 0;
  let received = 0;
  let joined = 0;
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (received === expected && joined === peers.length) resolve(received);
    };
    for (const [i, peer] of peers.entries()) {
      const room = i % rooms;
      const behind = i % (kept + 1);
      expected += behind;
      peer.onMessages = (count) => {
        received += count;
        check();
      };
      peer.onControl = ({ type, payload }) => {
        if (type === "$ws:gap" || type === "$ws:error")
          reject(new Error(`A client got ${JSON.stringify(payload)}.`));
        if (type !== "$ws:joined") return;
        joined++;
        check();
      };
      const position = { epoch: epochOf[room], offset: kept - behind };
      peer.send("$ws:join", { channel: "room:{id}", params: { id: String(room) }, position }, "j");
    }
  });
}

async function fanOut(peers: readonly Peer[]): Promise<number> {
  const publisher = await Peer.open();
  let deliveries = 0;
  const endAt = performance.now() + fanOutSeconds * 1_000;
  for (let i = 0; performance.now() < endAt; i++) {
    const room = i % rooms;
    const members = peers.filter((_, at) => at % rooms === room);
    await new Promise<void>((resolve) => {
      let missing = members.length;
      for (const member of members)
        member.onMessages = (count) => {
          missing -= count;
          if (missing === 0) resolve();
        };
      publisher.send("SAY", { room: String(room) }, `s${i}`);
    });
    deliveries += members.length;
  }
  return deliveries;
}

const epochOf = await epochs();
const peers = await openAll();
const replayed = await timed(() => replay(peers, epochOf));
const fannedOut = await timed(() => fanOut(peers));
console.log(JSON.stringify({ replayed, fannedOut }));
process.exit(0);
