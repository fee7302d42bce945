/** Pending requests: each settles once, at the latest when its connection is lost or its timeout ends. */
import { WsError } from "../protocol/error.ts";
import type { ReadError } from "../schema/declared-errors.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import type { Environment } from "./environment.ts";
import { failure } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import { createLimit } from "./limit.ts";
import type { Outbound } from "./outbound.ts";
import type { Progress } from "./progress.ts";
import { enqueue } from "./queue.ts";
import { text } from "./texts.ts";

/** A request and its promise. */
export interface Request {
  readonly id: string;
  readonly type: string;
  readonly frame: string;
  readonly reply: AnyMessageSchema;
  readonly readError: ReadError | undefined;
  readonly progress: Progress;
  readonly resolve: (message: Inbound) => void;
  readonly reject: (error: WsError) => void;
}

/** A pending request. */
export type Call = Request &
  Required<Omit<Outbound, "queue">> & {
    /** Rejects the request with `CANCELLED`. */
    cancel(): void;
  };

export interface Requests {
  /** Adds a request. Throws when the id is in use, the limit is reached, or the signal is aborted. */
  open(request: Request, timeoutMs: number | undefined, signal: AbortSignal | undefined): Call;
  get(id: string | undefined): Call | undefined;
  /** Rejects every request; with `onlySent`, only those that were sent. */
  fail(onlySent: boolean, why: WsError): void;
  /** Whether this is a response to a request that was cancelled or timed out; such a response is ignored. */
  isLate(id: string | undefined): boolean;
  /** Whether a sent request has no response yet. */
  busy(): boolean;
}

export function createRequests(
  limit: number,
  environment: Environment,
  ended: (call: Call, isCancelled: boolean) => void,
): Requests {
  const calls = new Map<string | undefined, Call>();
  /** Ids of sent requests that were cancelled or timed out; at most `limit`. */
  const late = new Set<string | undefined>();

  return {
    open(request, timeoutMs, signal) {
      const { id } = request;
      if (calls.has(id)) throw failure("ALREADY_EXISTS", text("correlationId", id));
      if (calls.size >= limit) throw failure("RESOURCE_EXHAUSTED", text("pendingRequestsLimit", limit));
      // An id that was given up may be used again.
      late.delete(id);
      let isCancelled = false;
      const waiting = createLimit(
        environment,
        timeoutMs,
        signal,
        () => failure("DEADLINE_EXCEEDED", text("timeoutMs", timeoutMs, call.isSent)),
        (error) => {
          if (calls.get(id) !== call) return;
          isCancelled = error.code === "CANCELLED";
          if (call.isSent) enqueue(late, id, limit, "drop-oldest");
          call.settle(error);
        },
      );
      const call: Call = {
        ...request,
        deadline: timeoutMs && environment.performance.now() + timeoutMs,
        isSent: false,
        cancel: waiting.cancel,
        settle(outcome) {
          waiting.stop();
          calls.delete(id);
          if (outcome instanceof WsError) request.reject(outcome);
          else request.resolve(outcome);
          ended(call, isCancelled);
        },
      };
      calls.set(id, call);
      return call;
    },
    get: (id) => calls.get(id),
    fail(onlySent, cause) {
      late.clear();
      for (const call of calls.values()) {
        if (call.isSent || !onlySent) call.settle(failure("UNAVAILABLE", cause.message, { cause }));
      }
    },
    isLate: (id) => late.delete(id),
    busy: () => [...calls.values()].some((call) => call.isSent),
  };
}
