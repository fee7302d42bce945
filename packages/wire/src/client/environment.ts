/** The platform functions that the client uses, in browsers, workers and server runtimes. Tests provide their own. */
import { LONGEST_TIMER_MS } from "../protocol/checks.ts";

/** The members of a WebSocket that the client uses. The platform's WebSocket and libraries such as `ws` have them. */
export interface SocketLike {
  /** The selected subprotocol. */
  readonly protocol: string;
  /** 1 when open. */
  readonly readyState: number;
  /** Bytes that are not sent yet. */
  readonly bufferedAmount: number;
  /** For `open`, `message`, `error` and `close`. Typed with `never`, because every library has its own event types. */
  addEventListener(type: never, listener: never): void;
  /** Sends a text frame. */
  send(frame: string): void;
  /** Sends a close frame. */
  close(code?: number, reason?: string): void;
}

/** The members of `globalThis` that the client uses. Those that exist only in a page are optional. */
export interface Environment {
  /** Monotonic time in ms, for deadlines and intervals. */
  readonly performance: { now(): number };
  /** Wall time in ms, for timestamps in messages. */
  readonly Date: { now(): number };
  readonly Math: { random(): number };
  readonly WebSocket: new (url: string, protocols: string[]) => SocketLike;
  readonly location?: { readonly href: string };
  readonly document?: Pick<Document, "hidden" | "addEventListener">;
  setTimeout(callback: () => unknown, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
  addEventListener?(type: string, listener: () => void, options: { signal: AbortSignal }): void;
}

/** Starts a timer and returns a function that cancels it. */
export function later(environment: Environment, callback: () => unknown, delayMs: number): () => void {
  const handle = environment.setTimeout(callback, Math.min(delayMs, LONGEST_TIMER_MS));
  return () => environment.clearTimeout(handle);
}

/** Calls `wake` when the network is online again or the page visible again; returns a function that stops this. */
export function onWake(environment: Environment, wake: () => void): () => void {
  const { document } = environment;
  const controller = new AbortController();
  environment.addEventListener?.("online", wake, controller);
  document?.addEventListener(
    "visibilitychange",
    () => {
      if (!document.hidden) wake();
    },
    controller,
  );
  return () => controller.abort();
}
