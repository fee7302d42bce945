/** Outbound messages: each is sent, queued, or dropped with an error. */
import { byteLength } from "../protocol/bytes.ts";
import type { Meta } from "../protocol/envelope.ts";
import type { ErrorCode } from "../protocol/error.ts";
import { MAX_BUFFERED_BYTES } from "./bounds.ts";
import type { Environment, SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Report } from "./inbox.ts";
import type { ClientOptions } from "./options.ts";
import type { Outbound } from "./outbound.ts";
import { enqueue } from "./queue.ts";
import { type Drop, text } from "./texts.ts";

export interface Outbox {
  /** Sends the message and returns true, or queues or drops it and returns false. */
  submit(outbound: Outbound): boolean;
  /** Sends the queued messages. */
  flush(): void;
  /** Drops the queued messages. */
  clear(): void;
  /** Messages that wait for a connection. */
  readonly queue: Set<Outbound>;
  /** The largest frame the server accepts, in bytes; undefined when unknown. */
  maxBytes: number | undefined;
}

export function createOutbox(
  { queue: policy = "drop-newest", queueSize = 1_000 }: ClientOptions,
  { performance }: Environment,
  report: Report,
  usableSocket: () => SocketLike | undefined,
): Outbox {
  const queue = new Set<Outbound>();

  function submit(outbound: Outbound): boolean {
    const { frame } = outbound;
    const { maxBytes } = outbox;
    const socket = usableSocket();
    // What a callback sends while the queue is flushed comes after it.
    if (!socket || (queue.size && !queue.has(outbound))) {
      if (outbound.queue === false) return false;
      if (policy === "off") drop(outbound, "UNAVAILABLE", "socket");
      else {
        const dropped = enqueue(queue, outbound, queueSize, policy);
        if (dropped) drop(dropped, "RESOURCE_EXHAUSTED", "queueSize");
      }
    } else if (maxBytes && frame.length * 3 > maxBytes && byteLength(frame) > maxBytes)
      drop(outbound, "INVALID_ARGUMENT", "maxPayloadBytes", maxBytes);
    else if (socket.bufferedAmount > MAX_BUFFERED_BYTES)
      drop(outbound, "RESOURCE_EXHAUSTED", "bufferedAmount");
    else {
      socket.send(frame);
      outbound.isSent = true;
    }
    return Boolean(outbound.isSent);
  }

  function drop(outbound: Outbound, code: ErrorCode, why: Drop, limit?: number): void {
    const { type, settle } = outbound;
    const error = failure(code, text("overflow", type, why, limit));
    queue.delete(outbound);
    settle?.(error);
    // The promise of the request carries this error, and no message was lost.
    if (!settle || code !== "UNAVAILABLE") report(error, "overflow", type);
  }

  const outbox: Outbox = {
    submit,
    flush() {
      // Not a copy: a callback may add or remove a message.
      for (const outbound of queue) {
        const { deadline } = outbound;
        if (deadline) {
          const message = JSON.parse(outbound.frame) as { meta: Meta };
          // The time that is left.
          message.meta.timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
          outbound.frame = JSON.stringify(message);
        }
        if (submit(outbound)) queue.delete(outbound);
      }
    },
    clear() {
      // A copy, because an onError callback may send again.
      for (const outbound of [...queue]) drop(outbound, "UNAVAILABLE", "closed");
    },
    queue,
    maxBytes: undefined,
  };
  return outbox;
}
