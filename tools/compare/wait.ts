/** Waits for conditions in the scripts of a comparison. */
import { setTimeout as sleep } from "node:timers/promises";

const INTERVAL_MS = 20;

/** Resolves when the condition holds or the time is over: what a build never does is a difference and no error. */
export async function waitUntil(holds: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!(await holds()) && performance.now() < endMs) await sleep(INTERVAL_MS);
}
