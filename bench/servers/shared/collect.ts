/** Lets the load generator ask for a garbage collection, so that memory is compared and not garbage. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

declare const Bun: { gc(synchronously: boolean): void } | undefined;

/** Collects garbage on SIGUSR2; call it before the port is printed. */
export function collectOnSignal(): void {
  process.on("SIGUSR2", chooseCollector());
}

function chooseCollector(): () => void {
  if (typeof Bun !== "undefined") return () => Bun?.gc(true);
  setFlagsFromString("--expose-gc");
  const collect: (options: object) => void = runInNewContext("gc");
  // "Last resort" also gives unused pages back to the system, which else happens some time later, or never.
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
