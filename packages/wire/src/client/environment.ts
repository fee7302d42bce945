/** What the client takes from where it runs: a browser, a worker, a server runtime. Tests bring their own. */
import { LONGEST_TIMER_MS } from "./bounds.ts";

/** The part of a WebSocket that the client uses: the platform's has it, and that of a library such as `ws`. */
export interface SocketLike {
  readonly protocol: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  /** For `open`, `message`, `error` and `close`. Every library has event types of its own, so none is asked for. */
  addEventListener(type: never, listener: never): void;
  send(frame: string): void;
  close(code?: number, reason?: string): void;
}

/** The part of `globalThis` that is used. What only a page has may be absent. */
export interface Environment {
  /** For deadlines and intervals. */
  readonly performance: { now(): number };
  /** For what is sent. */
  readonly Date: { now(): number };
  readonly Math: { random(): number };
  readonly WebSocket: new (url: string, protocols: string[]) => SocketLike;
  readonly location?: { readonly href: string };
  readonly document?: Pick<Document, "visibilityState" | "addEventListener">;
  setTimeout(callback: () => unknown, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
  addEventListener?(type: string, listener: () => void, options: { signal: AbortSignal }): void;
}

/** A timer; gives a function that ends it. */
export function later(environment: Environment, callback: () => unknown, delayMs: number): () => void {
  const handle = environment.setTimeout(callback, Math.min(delayMs, LONGEST_TIMER_MS));
  return () => environment.clearTimeout(handle);
}

/** Calls back when the network or the page has come back; gives a function that stops it. */
export function onWake(environment: Environment, wake: () => void): () => void {
  const { document } = environment;
  const controller = new AbortController();
  environment.addEventListener?.("online", wake, controller);
  document?.addEventListener(
    "visibilitychange",
    () => {
      if (document.visibilityState === "visible") wake();
    },
    controller,
  );
  return () => controller.abort();
}
