/**
 * Many raw connections to `live-flags.ts`, subscribed to flags. Arguments: port, connections, those of them that no change
 * concerns, seconds to warm up and to measure, and `kill` or `segment`. Prints what each change took.
 */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

const numbers = process.argv.slice(2, 7).map(Number);
const [port = 0, connections = 0, unaffected = 0, warmSeconds = 0, measuredSeconds = 0] = numbers;
const isSegment = process.argv[7] === "segment";
const OPENING_AT_ONCE = 100;
const MAX_WAIT_MS = 60_000;

const now = (): number => performance.timeOrigin + performance.now();

/** Reads the frames of the server: their type, size and time. */
class Peer {
  readonly #socket: Socket;
  #waiting: Buffer | undefined;
  /** The frames with a flag since the last change. */
  updates = 0;
  receivedAtMs = 0;
  frameBytes = 0;
  onSync: () => void = () => undefined;
  onUpdate: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => {
      throw error;
    });
    socket.on("close", () => {
      throw new Error("The server closed a connection.");
    });
  }

  static open(user: number): Promise<Peer> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      const token = `token-${String(user).padStart(26, "0")}`;
      socket.once("error", reject);
      socket.write(
        `GET /live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: halyard.v1.json\r\n\r\n`,
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

  subscribe(payload: object): Promise<void> {
    const text = Buffer.from(
      JSON.stringify({ type: "flags:subscribe", meta: { correlationId: "s" }, payload }).padEnd(130),
    );
    // A mask of zeros leaves the text as it is.
    const header = Buffer.alloc(8);
    header[0] = 0x81;
    header[1] = 0x80 | 126;
    header.writeUInt16BE(text.length, 2);
    return new Promise((resolve) => {
      this.onSync = resolve;
      this.#socket.write(Buffer.concat([header, text]));
    });
  }

  #read(chunk: Buffer): void {
    const bytes = this.#waiting === undefined ? chunk : Buffer.concat([this.#waiting, chunk]);
    this.#waiting = undefined;
    let at = 0;
    while (at + 2 <= bytes.length) {
      const short = bytes[at + 1] ?? 0;
      const start = at + 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
      if (start > bytes.length) break;
      const length =
        short === 126
          ? bytes.readUInt16BE(at + 2)
          : short === 127
            ? Number(bytes.readBigUInt64BE(at + 2))
            : short;
      const end = start + length;
      if (end > bytes.length) break;
      const type = bytes.toString("latin1", start, Math.min(end, start + 24));
      if (type.includes('"flag:')) {
        this.updates += 1;
        this.receivedAtMs = now();
        this.frameBytes = length;
        this.onUpdate();
      } else if (type.includes('"flags:sync"')) this.onSync();
      else if (type.includes('"$ws:error"')) throw new Error(bytes.toString("utf8", start, end));
      at = end;
    }
    if (at < bytes.length) this.#waiting = Buffer.from(bytes.subarray(at));
  }
}

async function post(
  path: string,
): Promise<{ wallMs: number; cpuMs: number; startedAtMs: number; lagMs?: number }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST" });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Awaited<ReturnType<typeof post>>;
}

const peers: Peer[] = [];
while (peers.length < connections) {
  const more = Math.min(OPENING_AT_ONCE, connections - peers.length);
  const opened = await Promise.all(Array.from({ length: more }, (_, at) => Peer.open(peers.length + at + 1)));
  await Promise.all(
    opened.map((peer, at) =>
      peer.subscribe({
        id: 1,
        ...(peers.length + at < unaffected && { context: { attributes: { plan: "free" } } }),
      }),
    ),
  );
  peers.push(...opened);
}
const [spared, affected] = [peers.slice(0, unaffected), peers.slice(unaffected)];

interface Sample {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs one change, and waits until every client that it concerns has its frame. */
async function run(path: string): Promise<Sample> {
  let missing = affected.length;
  const arrived = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${missing} clients got no frame.`)), MAX_WAIT_MS);
    for (const peer of affected) {
      peer.updates = 0;
      peer.onUpdate = () => {
        missing -= 1;
        if (missing > 0) return;
        clearTimeout(timer);
        resolve();
      };
    }
  });
  const { wallMs, cpuMs, startedAtMs } = await post(`${path}?count=${affected.length}`);
  await arrived;
  const latencies = affected.map(({ receivedAtMs }) => receivedAtMs - startedAtMs).sort((a, b) => a - b);
  const share = (part: number): number => latencies[Math.floor((latencies.length - 1) * part)] ?? Number.NaN;
  return { wallMs, cpuMs, p50Ms: share(0.5), p99Ms: share(0.99) };
}

async function repeat(seconds: number, work: () => Promise<void>): Promise<void> {
  const endAtMs = now() + seconds * 1000;
  while (now() < endAtMs) await work();
}

if (isSegment) {
  const lagsMs: number[] = [];
  const tookMs: number[] = [];
  await repeat(warmSeconds, async () => void (await post("/segment")));
  await repeat(measuredSeconds, async () => {
    const { lagMs = Number.NaN, wallMs } = await post("/segment");
    lagsMs.push(lagMs);
    tookMs.push(wallMs);
  });
  console.log(JSON.stringify({ lagsMs, tookMs }));
} else {
  const ours: Sample[] = [];
  const bare: Sample[] = [];
  await repeat(warmSeconds, async () => {
    await run("/kill");
    await run("/bare");
  });
  await repeat(measuredSeconds, async () => {
    ours.push(await run("/kill"));
    bare.push(await run("/bare"));
  });
  const frameBytes = Math.max(...affected.map((peer) => peer.frameBytes));
  const strays = spared.reduce((sum, peer) => sum + peer.updates, 0);
  console.log(JSON.stringify({ ours, bare, frameBytes, strays }));
}
process.exit(0);
