/** What the application says: sent, queued, or refused with a reason. */
import { byteLength } from "../protocol/bytes.ts";
import type { ErrorCode } from "../protocol/error.ts";
import { MAX_BUFFERED_BYTES } from "./bounds.ts";
import type { Environment, SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Report } from "./inbox.ts";
import type { ClientOptions } from "./options.ts";
import { type Outbound, rewrite } from "./outbound.ts";
import { enqueue } from "./queue.ts";

export interface Outbox {
  /** Sends it now (true), or queues it, or refuses it. */
  submit(outbound: Outbound): boolean;
  /** Sends what has waited. */
  flush(): void;
  /** What waits. */
  readonly queue: Set<Outbound>;
  /** The largest frame that the server takes; undefined: not known. */
  maxFrameBytes: number | undefined;
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
    const { maxFrameBytes } = outbox;
    const socket = usableSocket();
    if (!socket) wait(outbound);
    else if (maxFrameBytes && frame.length * 3 > maxFrameBytes && byteLength(frame) > maxFrameBytes)
      drop(outbound, "INVALID_ARGUMENT", `it is larger than ${maxFrameBytes} bytes`);
    else if (socket.bufferedAmount > MAX_BUFFERED_BYTES)
      drop(outbound, "RESOURCE_EXHAUSTED", "the socket's buffer is full");
    else {
      socket.send(frame);
      outbound.isSent = true;
    }
    return outbound.isSent === true;
  }

  function wait(outbound: Outbound): void {
    if (policy === "off") return drop(outbound, "UNAVAILABLE", "there is no open link");
    const dropped = enqueue(queue, outbound, queueSize, policy);
    if (dropped) drop(dropped, "RESOURCE_EXHAUSTED", "the queue is full");
  }

  function drop({ type, settle }: Outbound, code: ErrorCode, why: string): void {
    const error = failure(code, `${type} was not sent: ${why}.`);
    settle?.(error);
    // Whoever asked without a link has the error already, and nothing was lost.
    if (!settle || code !== "UNAVAILABLE") report(error, "overflow", type);
  }

  const outbox: Outbox = {
    submit,
    flush() {
      for (const outbound of [...queue]) {
        // A callback may have ended it since.
        if (!queue.delete(outbound)) continue;
        const { deadline, frame } = outbound;
        if (deadline !== undefined) outbound.frame = rewrite(frame, deadline - performance.now());
        submit(outbound);
      }
    },
    queue,
    maxFrameBytes: undefined,
  };
  return outbox;
}
