// A short TCP conversation in lines, for protocols that do not deserve a client library here.
import { connect } from "node:net";

export interface Conversation {
  write(text: string): void;
  /** The next line, without its end. */
  line(): Promise<string>;
  /** The next `length` bytes, as text. */
  bytes(length: number): Promise<string>;
}

const DEADLINE_MS = 3000;

/** Connects, holds the conversation and closes; rejects when it takes longer than 3 seconds. */
export async function converse<T>(url: URL, talk: (peer: Conversation) => Promise<T>): Promise<T> {
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) });
  let received = Buffer.alloc(0);
  let wake = () => {};
  const failed = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)),
      DEADLINE_MS,
    );
    socket.once("error", reject);
    socket.once("close", () => {
      clearTimeout(timer);
      reject(new Error("it closed the connection"));
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
