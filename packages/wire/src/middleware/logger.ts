/** Logs one entry per message: type, connection, outcome and duration. Never a payload or a token. */
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Middleware } from "../router/context.ts";

/** What `logger()` logs of one message. */
export interface LogEntry {
  /** The message type. */
  readonly type: string;
  /** The id of the connection. */
  readonly clientId: string;
  /** The correlation id, if the message has one. */
  readonly correlationId?: string;
  /** Whether the message is a request with a handler of `rpc`. */
  readonly isRpc: boolean;
  /** Time in the handler and inner middleware, in ms. */
  readonly durationMs: number;
  /** `failed`: the handler or a later middleware threw. */
  readonly outcome: "done" | "failed";
  /** The error's code, or its class name. */
  readonly error?: string;
}

/** The options of `logger()`. */
export interface LoggerOptions {
  /** Receives the entries. Default: one line per entry on the console. */
  readonly log?: (entry: LogEntry) => void;
  /** The current time in ms. Default `performance.now()`. */
  readonly now?: () => number;
}

/**
 * Middleware that logs every handled message when its handler has finished.
 *
 * @example
 * ```ts
 * import { createRouter } from "@halyard/wire";
 * import { logger } from "@halyard/wire/middleware";
 *
 * const router = createRouter().use(logger());
 * ```
 */
export function logger<Data extends ConnectionData = ConnectionData>(
  options: LoggerOptions = {},
): Middleware<Data> {
  const { log = print, now = () => performance.now() } = options;
  return async (ctx, next) => {
    const startedAt = now();
    const report = (outcome: LogEntry["outcome"], error?: string) => {
      const { correlationId } = ctx.meta;
      const logged: unknown = log({
        type: ctx.type,
        clientId: ctx.clientId,
        ...(correlationId !== undefined && { correlationId }),
        isRpc: ctx.isRpc,
        durationMs: now() - startedAt,
        outcome,
        ...(error !== undefined && { error }),
      });
      // Not awaited: the response does not wait for the log.
      if (logged instanceof Promise) logged.catch(reportFailure);
    };
    try {
      await next();
    } catch (error) {
      report("failed", nameOf(error));
      throw error;
    }
    report("done");
  };
}

/** Only the code or class of an error: its message may quote what a peer sent. */
function nameOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return typeof error;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.constructor.name;
}

function reportFailure(error: unknown): void {
  console.error("[halyard] The option log of logger() failed.", error);
}

function print(entry: LogEntry): void {
  const { type, clientId, durationMs, outcome, error } = entry;
  console.info(
    `[halyard] ${type} ${outcome} in ${durationMs.toFixed(1)} ms client=${clientId}${error === undefined ? "" : ` error=${error}`}`,
  );
}
