// A short line-based TCP exchange, for protocols that need no client library here.
import { connect } from "node:net";

export interface Conversation {
  write(text: string): void;
  /** The next line, without its line break. */
  line(): Promise<string>;
  /** The next `length` bytes, as text. */
  bytes(length: number): Promise<string>;
}

const DEADLINE_MS = 3000;

/** Connects, runs the exchange and closes. Rejects when it takes longer than 3 seconds. */
export async function converse<T>(url: URL, talk: (peer: Conversation) => Promise<T>): Promise<T> {
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) });
  let received = Buffer.alloc(0);
  let wake = () => {};
  const failed = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no response within ${DEADLINE_MS} ms`)),
      DEADLINE_MS,
    );
    socket.once("error", reject);
    socket.once("close", () => {
      clearTimeout(timer);
      reject(new Error("the server closed the connection"));
    });
  });
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  async function take(end: () => number | undefined): Promise<string> {
    for (;;) {
      const length = end();
      if (length !== undefined) {
        const text = received.toString("utf8", 0, length);
        received = received.subarray(length);
        return text;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const peer: Conversation = {
    write: (text) => void socket.write(text),
    line: async () => {
      const text = await take(() => {
        const index = received.indexOf("\r\n");
        return index < 0 ? undefined : index + 2;
      });
      return text.slice(0, -2);
    },
    bytes: (length) => take(() => (received.length < length ? undefined : length)),
  };
  try {
    return await Promise.race([talk(peer), failed]);
  } finally {
    socket.destroy();
  }
}
