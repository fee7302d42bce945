/** Requests that wait for their answer: each settles once, and none is kept longer than its link or its timeout. */
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import type { Listeners } from "./listeners.ts";

/** One request. */
export interface Call {
  readonly id: string;
  readonly reply: AnyMessageSchema;
  /** Monotonic time. */
  readonly deadline: number;
  readonly progress: Listeners<[data: unknown]>;
  readonly resolve: (message: Inbound) => void;
  readonly reject: (error: WsError) => void;
  /** Ends the timer and lets go of the signal. */
  readonly release: () => void;
  isSent: boolean;
}

export interface Requests {
  /** Begins to wait. Throws when the id is taken or too many wait. `givenUp` hears of a timeout or an abort. */
  open(
    request: Pick<Call, "id" | "reply" | "progress" | "resolve" | "reject">,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    givenUp: (isAborted: boolean) => void,
  ): Call;
  get(id: string | undefined): Call | undefined;
  settle(call: Call, outcome: WsError | Inbound): void;
  /** Fails all, or those that were sent over a link that is gone. */
  failAll(cause: WsError, onlySent: boolean): void;
  /** Whether this is the answer to a request that was sent and given up; it is nobody's then. */
  isLate(id: string | undefined): boolean;
  /** Whether one was sent and waits. */
  isBusy(): boolean;
}

export function createRequests(limit: number, environment: Environment, settled: () => void): Requests {
  const calls = new Map<string | undefined, Call>();
  /** Sent and given up. As many are remembered as may wait. */
  const late = new Set<string | undefined>();

  function settle(call: Call, outcome: WsError | Inbound): void {
    call.release();
    calls.delete(call.id);
    if (outcome instanceof WsError) call.reject(outcome);
    else call.resolve(outcome);
    settled();
  }

  return {
    open(request, timeoutMs, signal, givenUp) {
      const { id } = request;
      if (calls.has(id)) throw failure("ALREADY_EXISTS", `${id} is waiting already.`);
      if (calls.size >= limit) throw failure("RESOURCE_EXHAUSTED", `${limit} requests are waiting already.`);
      const giveUp = (error: WsError, isAborted: boolean): void => {
        const [oldest] = late;
        if (late.size >= limit) late.delete(oldest);
        if (call.isSent) late.add(id);
        givenUp(isAborted);
        settle(call, error);
      };
      const abort = (): void => giveUp(cancelled(signal), true);
      const cancelTimer = later(
        environment,
        () => giveUp(failure("DEADLINE_EXCEEDED", `No answer within ${timeoutMs} ms.`), false),
        timeoutMs,
      );
      const call: Call = {
        ...request,
        deadline: environment.performance.now() + timeoutMs,
        isSent: false,
        release() {
          cancelTimer();
          signal?.removeEventListener("abort", abort);
        },
      };
      signal?.addEventListener("abort", abort);
      calls.set(id, call);
      return call;
    },
    get: (id) => calls.get(id),
    settle,
    failAll(cause, onlySent) {
      late.clear();
      for (const call of calls.values()) {
        if (call.isSent || !onlySent) settle(call, failure("UNAVAILABLE", cause.message, cause));
      }
    },
    isLate: (id) => late.delete(id),
    isBusy: () => [...calls.values()].some(({ isSent }) => isSent),
  };
}

export function cancelled(signal: AbortSignal | undefined): WsError {
  return failure("CANCELLED", "The request was cancelled.", signal?.reason);
}
