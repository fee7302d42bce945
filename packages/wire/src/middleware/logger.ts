/** One line per message: type, connection, outcome and time. Never a payload, never a token. */
import type { Middleware } from "../router/context.ts";
import type { ConnectionData } from "../router/peer.ts";

export interface LogEntry {
  readonly type: string;
  readonly clientId: string;
  readonly correlationId?: string;
  readonly isRpc: boolean;
  readonly durationMs: number;
  /** `failed`: the handler threw. */
  readonly outcome: "done" | "failed";
  /** The error's code, or its class name. */
  readonly error?: string;
}

export interface LoggerOptions {
  /** Where entries go. Default: one line each on the console. */
  readonly log?: (entry: LogEntry) => void;
  /** Time in ms. */
  readonly now?: () => number;
}

/** Middleware that reports every handled message once it is done. */
export function logger<Data extends ConnectionData = ConnectionData>(
  options: LoggerOptions = {},
): Middleware<Data> {
  const { log = print, now = () => performance.now() } = options;
  return async (ctx, next) => {
    const startedAt = now();
    const report = (outcome: LogEntry["outcome"], error?: string) => {
      const { correlationId } = ctx.meta;
      log({
        type: ctx.type,
        clientId: ctx.clientId,
        ...(correlationId !== undefined && { correlationId }),
        isRpc: ctx.isRpc,
        durationMs: now() - startedAt,
        outcome,
        ...(error !== undefined && { error }),
      });
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

/** Messages of errors may quote what a peer sent, so only the code or the class is logged. */
function nameOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return typeof error;
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.constructor.name;
}

function print(entry: LogEntry): void {
  const { type, clientId, durationMs, outcome, error } = entry;
  console.info(
    `[halyard] ${type} ${outcome} in ${durationMs.toFixed(1)} ms client=${clientId}${error === undefined ? "" : ` error=${error}`}`,
  );
}
