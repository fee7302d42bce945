/** Requests that wait for their answer: each settles once, and none is kept longer than its link or its timeout. */
import { WsError, type WsErrorOptions } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { type Environment, later } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import type { Listeners } from "./listeners.ts";
import type { Outbound } from "./outbound.ts";

/** What is asked, and who waits for the answer. */
export interface Request {
  readonly id: string;
  readonly type: string;
  readonly frame: string;
  readonly reply: AnyMessageSchema;
  readonly progress: Listeners<[data: unknown]>;
  readonly resolve: (message: Inbound) => void;
  readonly reject: (error: WsError) => void;
}

/** A request that waits. */
export type Call = Request & Required<Outbound>;

export interface Requests {
  /** Begins to wait. Throws when the id is taken, too many wait, or the signal has fired. */
  open(request: Request, timeoutMs: number, signal: AbortSignal | undefined): Call;
  get(id: string | undefined): Call | undefined;
  /** Fails all, or those that were sent over a link that is gone. */
  failAll(onlySent: boolean, message: string, options?: WsErrorOptions): void;
  /** Whether this is the answer to a request that was sent and given up; it is nobody's then. */
  isLate(id: string | undefined): boolean;
  /** Whether one was sent and waits. */
  isBusy(): boolean;
}

export function createRequests(
  limit: number,
  environment: Environment,
  ended: (call: Call, isAborted: boolean | undefined) => void,
): Requests {
  const calls = new Map<string | undefined, Call>();
  /** Sent and given up. As many are remembered as may wait. */
  const late = new Set<string | undefined>();

  return {
    open(request, timeoutMs, signal) {
      const { id } = request;
      const cancelled = (): WsError =>
        failure("CANCELLED", "The request was cancelled.", { cause: signal?.reason });
      if (signal?.aborted) throw cancelled();
      if (calls.has(id)) throw failure("ALREADY_EXISTS", `${id} is waiting already.`);
      if (calls.size >= limit) throw failure("RESOURCE_EXHAUSTED", `${limit} requests are waiting already.`);
      const giveUp = (error: WsError): void => {
        const [oldest] = late;
        if (late.size >= limit) late.delete(oldest);
        if (call.isSent) late.add(id);
        call.settle(error);
      };
      const abort = (): void => giveUp(cancelled());
      const cancelTimer = later(
        environment,
        () => giveUp(failure("DEADLINE_EXCEEDED", `No answer within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      const call: Call = {
        ...request,
        deadline: environment.performance.now() + timeoutMs,
        isSent: false,
        settle(outcome) {
          cancelTimer();
          signal?.removeEventListener("abort", abort);
          calls.delete(id);
          if (outcome instanceof WsError) request.reject(outcome);
          else request.resolve(outcome);
          ended(call, signal?.aborted);
        },
      };
      calls.set(id, call);
      signal?.addEventListener("abort", abort);
      return call;
    },
    get: (id) => calls.get(id),
    failAll(onlySent, message, options) {
      late.clear();
      for (const call of calls.values()) {
        if (call.isSent || !onlySent) call.settle(failure("UNAVAILABLE", message, options));
      }
    },
    isLate: (id) => late.delete(id),
    isBusy: () => [...calls.values()].some(({ isSent }) => isSent),
  };
}
