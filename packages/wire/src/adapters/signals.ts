/** Drains every running server when the process is asked to end. */
import type { ServerHandle } from "./serve-options.ts";

const running = new Set<Pick<ServerHandle, "drain">>();

/** One listener for all servers of the process; the process ends once they are drained. Gives back an unregister function. */
export function drainOnSignal(handle: Pick<ServerHandle, "drain">): () => void {
  if (running.size === 0) process.on("SIGTERM", onTerminate);
  running.add(handle);
  return () => {
    running.delete(handle);
    if (running.size === 0) process.removeListener("SIGTERM", onTerminate);
  };
}

function onTerminate(): void {
  void Promise.allSettled([...running].map((handle) => handle.drain())).then((drained) => {
    const forced = drained.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value.forced : 0), 0);
    if (forced > 0) {
      console.warn(
        `[halyard] ${forced} connections were closed before everything on them was answered and sent.`,
      );
    }
    process.removeListener("SIGTERM", onTerminate);
    // Ours was in the way of the default, which is to end: unless the application has a listener, end now.
    if (process.listenerCount("SIGTERM") > 0) return;
    process.kill(process.pid, "SIGTERM");
    // The first process of a container has no default: the signal does nothing to it.
    if (process.pid === 1) process.exit(128 + 15);
  });
}
