/** What the application says: sent, queued, or refused with a reason. */
import type { ErrorCode } from "../protocol/error.ts";
import type { Environment, SocketLike } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Report } from "./inbox.ts";
import type { ClientOptions } from "./options.ts";
import { type Outbound, rewrite } from "./outbound.ts";
import { createQueue } from "./queue.ts";
import type { Requests } from "./requests.ts";

/** With more than this in the socket's buffer, the network is too slow for what is being sent. */
const MAX_BUFFERED_BYTES = 2 ** 24;

export interface Outbox {
  /** Sends it now (true), or queues it, or refuses it. */
  submit(outbound: Outbound): boolean;
  /** Sends what has waited. */
  flush(): void;
  delete(outbound: Outbound): void;
  clear(): void;
  /** The largest frame that the server takes; undefined: not known. */
  maxFrameBytes: number | undefined;
}

export function createOutbox(
  { queue: policy = "drop-newest", queueSize = 1_000 }: ClientOptions,
  { performance }: Environment,
  requests: Requests,
  report: Report,
  usableSocket: () => SocketLike | undefined,
): Outbox {
  const queue = createQueue<Outbound>(queueSize, policy);

  function submit(outbound: Outbound): boolean {
    const { call, frame } = outbound;
    const { maxFrameBytes } = outbox;
    const socket = usableSocket();
    if (!socket) wait(outbound);
    else if (maxFrameBytes && frame.length * 3 > maxFrameBytes && byteLength(frame) > maxFrameBytes)
      drop(outbound, "INVALID_ARGUMENT", `it is larger than ${maxFrameBytes} bytes`);
    else if (socket.bufferedAmount > MAX_BUFFERED_BYTES)
      drop(outbound, "RESOURCE_EXHAUSTED", "the socket's buffer is full");
    else {
      socket.send(frame);
      if (call) call.isSent = true;
      return true;
    }
    return false;
  }

  function wait(outbound: Outbound): void {
    if (policy === "off") return drop(outbound, "UNAVAILABLE", "there is no open link");
    const dropped = queue.add(outbound);
    if (dropped) drop(dropped, "RESOURCE_EXHAUSTED", "the queue is full");
  }

  function drop({ type, call }: Outbound, code: ErrorCode, why: string): void {
    const error = failure(code, `${type} was not sent: ${why}.`);
    if (call) requests.settle(call, error);
    // Whoever asked without a link has the error already, and nothing was lost.
    if (!call || code !== "UNAVAILABLE") report(error, "overflow", type);
  }

  const outbox: Outbox = {
    submit,
    flush() {
      for (const outbound of queue.take()) {
        const { call, frame } = outbound;
        if (call) outbound.frame = rewrite(frame, call.deadline - performance.now());
        submit(outbound);
      }
    },
    delete: queue.delete,
    clear: queue.take,
    maxFrameBytes: undefined,
  };
  return outbox;
}

export function byteLength(text: string): number {
  return new Blob([text]).size;
}
