/** When the client gives up waiting: after a time, or when the caller cancels. */
import type { WsError } from "../protocol/error.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import { text } from "./texts.ts";

export interface Limit {
  /** Gives up with `CANCELLED`. */
  cancel(): void;
  /** Ends the wait: there is nothing to give up any more. */
  stop(): void;
}

/** Throws when the signal is aborted already. Without `timeoutMs` there is no time limit. */
export function createLimit(
  environment: Environment,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  late: () => WsError,
  giveUp: (error: WsError) => void,
): Limit {
  const cancelled = (): WsError => failure("CANCELLED", text("abort"), { cause: signal?.reason });
  if (signal?.aborted) throw cancelled();
  const cancel = (): void => giveUp(cancelled());
  const cancelTimer =
    timeoutMs === undefined ? undefined : later(environment, () => giveUp(late()), timeoutMs);
  signal?.addEventListener("abort", cancel);
  return {
    cancel,
    stop() {
      cancelTimer?.();
      signal?.removeEventListener("abort", cancel);
    },
  };
}
