/** A program that evaluates with one engine for a number of seconds and prints the cost of an evaluation as JSON. */
import { parseArgs } from "node:util";
import { type Engine, type Pairs, pairsOf } from "./workload.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { warm: { type: "string", default: "1" }, measured: { type: "string", default: "1" } },
});
const [name = ""] = positionals;
const module: { start(): Engine | Promise<Engine> } = await import(`./${name}.ts`);
const engine = await module.start();
const pairs = pairsOf(engine.keys.length);
const { evaluationsPerCall = 1 } = engine;
/** A turn is long enough to be timed and short enough to end near the requested time. */
const TURN = Math.max(1, Math.ceil(20_000 / evaluationsPerCall));

let place = 0;

/** Returns the number of enabled results. */
async function turn({ isOn }: Engine, { flags, users }: Pairs): Promise<number> {
  let on = 0;
  for (let index = 0; index < TURN; index++) {
    place = (place + 1) % flags.length;
    const answer = isOn(flags[place] as number, users[place] as number);
    // Awaited only where the engine is asynchronous.
    if (answer === true || (answer !== false && (await answer))) on += 1;
  }
  return on;
}

async function run(seconds: number): Promise<{ calls: number; on: number; cpuUs: number; wallUs: number }> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  let calls = 0;
  let on = 0;
  while (performance.now() - started < seconds * 1_000) {
    on += await turn(engine, pairs);
    calls += TURN;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { calls, on, cpuUs: user + system, wallUs: (performance.now() - started) * 1_000 };
}

await run(Number(values.warm));
const { calls, on, cpuUs, wallUs } = await run(Number(values.measured));
const evaluations = calls * evaluationsPerCall;
console.log(JSON.stringify({ evaluations, cpuUs, wallUs, onShare: on / calls, facts: engine.facts ?? {} }));
// Some engines keep timers.
process.exit(0);
