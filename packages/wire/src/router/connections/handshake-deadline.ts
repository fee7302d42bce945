/** The deadline of the hooks of a handshake: `onUpgrade` of the adapter, and `onAuth`. */
import { CLOSE } from "../../protocol/control.ts";
import { WsError } from "../../protocol/error.ts";
import { Timeout } from "../../time/timers.ts";
import type { Server } from "../contracts.ts";

export const DEFAULT_HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * The result of a hook, or `late` when it does not settle in time: the connection is then closed with 1013, so that its
 * client tries again, and `report` gets the error.
 */
export function inHandshakeTime<T>(
  { timers, handshakeTimeoutMs }: Pick<Server, "timers" | "handshakeTimeoutMs">,
  hook: string,
  pending: Promise<T>,
  late: T,
  ws: { close(code: number, reason: string): void } | undefined,
  report: (error: WsError) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeout = new Timeout(() => {
      report(
        new WsError(
          "DEADLINE_EXCEEDED",
          `${hook} did not settle within ${handshakeTimeoutMs} ms (handshakeTimeoutMs), so the connection was closed. Give the calls it makes a shorter timeout.`,
        ),
      );
      ws?.close(CLOSE.tryLater, `${hook} timed out`);
      resolve(late);
    });
    timers.add(timeout, handshakeTimeoutMs);
    pending.then(resolve, reject).finally(() => timers.remove(timeout));
  });
}
