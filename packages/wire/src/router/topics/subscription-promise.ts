/** The promise that `ctx.subscribe` returns: when it fails and no code waits for it, the failure is reported. */
import { WsError } from "../../protocol/error.ts";
import { DONE, WatchedPromise, whenRejected } from "../pending.ts";

const MAX_QUOTED_LENGTH = 64;

/** The same result. `report` is called when it is a failure that no caller waits for. */
export function watch(pending: Promise<void>, report: (error: unknown) => void): Promise<void> {
  const watched = new WatchedPromise((resolve, reject) => void pending.then(resolve, reject));
  const check = async (error: unknown): Promise<void> => {
    // `await` calls `then` one turn of the microtask queue later.
    await DONE;
    await DONE;
    if (!watched.isAwaited) report(error);
  };
  // Without a callback, a rejection would end the process.
  whenRejected(watched, check);
  return watched;
}

/** The error for `onError`: it says why the failure was not an answer to a message. */
export function unawaited(topic: string, thrown: unknown): WsError {
  const error = WsError.wrap(thrown, "INTERNAL");
  // A peer may have chosen the topic, in any length and type.
  const name = typeof topic === "string" ? JSON.stringify(topic.slice(0, MAX_QUOTED_LENGTH)) : typeof topic;
  return new WsError(
    error.code,
    `The subscription to topic ${name} failed, and its promise was not awaited: ${error.message} Await ctx.subscribe() or ctx.topics.subscribe(), so that the handler answers with the failure.`,
    error.details,
    { cause: thrown },
  );
}
