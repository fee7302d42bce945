/** Drains every running server on SIGTERM. */
import type { ServerHandle } from "./serve-options.ts";

const running = new Set<Pick<ServerHandle, "drain">>();
/** Whether a drain has begun: process managers may send the signal twice, to the process and to its group. */
let isTerminating = false;

/** Registers a server. The process ends once all servers are drained. Returns an unregister function. */
export function drainOnSignal(handle: Pick<ServerHandle, "drain">): () => void {
  if (running.size === 0) process.on("SIGTERM", onTerminate);
  running.add(handle);
  return () => {
    running.delete(handle);
    // While a drain runs, a second signal must not end the process before the drain does.
    if (running.size === 0 && !isTerminating) process.removeListener("SIGTERM", onTerminate);
  };
}

function onTerminate(): void {
  if (isTerminating) return;
  isTerminating = true;
  void Promise.allSettled([...running].map((handle) => handle.drain())).then((drained) => {
    const forced = drained.reduce(
      (sum, result) => sum + (result.status === "fulfilled" ? result.value.forced : 0),
      0,
    );
    if (forced > 0) {
      console.warn(
        `[halyard] ${forced} connections were closed with unanswered requests or unsent bytes. Set drainTimeoutMs to wait longer.`,
      );
    }
    isTerminating = false;
    process.removeListener("SIGTERM", onTerminate);
    // This listener replaced the default action, which is to end the process. Unless the application has a listener, end it now.
    if (process.listenerCount("SIGTERM") > 0) return;
    process.kill(process.pid, "SIGTERM");
    // The first process of a container has no default action, so the signal would have no effect.
    if (process.pid === 1) process.exit(128 + 15);
  });
}
