/** Server code that evaluates a flag: the duration of the method while the flags are in memory. */
import { createAuth } from "./flags/auth.ts";
import { keys } from "./flags/flags.ts";
import { peopleOf } from "./flags/people.ts";
import { serveRuns } from "./shared/control.ts";

const [databaseUrl = ""] = process.argv.slice(2);
const { auth } = createAuth(databaseUrl);
const people = peopleOf(100);
let asked = 0;

async function ask(): Promise<void> {
  const { id, attributes } = people[asked % people.length] ?? { id: "", attributes: {} };
  const flagKey = keys[asked % keys.length] ?? "";
  asked += 1;
  await auth.api.evaluateFeatureFlag({ body: { flagKey, context: { userId: id, attributes } } });
}

/** The first call reads the flags. */
await ask();

serveRuns(async (seconds) => {
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  while (performance.now() < end) {
    const started = performance.now();
    await ask();
    times.push((performance.now() - started) * 1000);
    // One at a time, with pauses in between, so that nothing is under load.
    await new Promise(setImmediate);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return { p50Us: at(0.5), p95Us: at(0.95), p99Us: at(0.99) };
});
