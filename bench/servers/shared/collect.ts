/** Lets the load generator request a garbage collection, so that memory is compared without garbage. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

declare const Bun: { gc(synchronously: boolean): void } | undefined;

/** Collects garbage on SIGUSR2. Call it before the port is printed. */
export function collectOnSignal(): void {
  process.on("SIGUSR2", chooseCollector());
}

function chooseCollector(): () => void {
  if (typeof Bun !== "undefined") return () => Bun?.gc(true);
  setFlagsFromString("--expose-gc");
  const collect: (options: object) => void = runInNewContext("gc");
  // "Last resort" also returns unused pages to the system, which otherwise happens later or never.
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
