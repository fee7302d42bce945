/** What `.ci/run` runs: installs, then every check and test, and a last line with the numbers of passed and failed. */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { countVitest, type Part, type Result, runPart, runPartsTogether, sum, summarize } from "./parts.ts";
import { bin } from "./process.ts";
import { listWorkspaces, root } from "./repository.ts";

/**
 * Timeouts in minutes leave room for a machine that is three times slower than two quiet cores, on which the tests take
 * twelve minutes, the rehearsal beside the examples six, the smoke runs one and a half, others less than one.
 * Installing and the services take as long as a new machine's network needs for the downloads.
 */
const MINUTE_MS = 60_000;

/** Examples mostly wait for browsers, servers and timers; the packages for installations. */
const PARTS_TOGETHER = 3;

// Property tests run the same cases for every change here, so that a failure is the change's; elsewhere they vary.
process.env["HALYARD_SEED"] ??= "1";

// Tests start hundreds of processes. With compiled modules on disk, each starts in half the time.
process.env["NODE_COMPILE_CACHE"] ??= join(root, "node_modules", ".cache", "compiled");

const install = command("install", 20, "npm", "ci");

/** Parts that use all cores by themselves. */
const alone: readonly Part[] = [
  command("services", 20, "node", "services/cli.ts", "up"),
  tool("check", 10),
  {
    name: "test",
    command: bin("vitest"),
    args: (report) => ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
    count: countVitest,
    timeoutMs: 40 * MINUTE_MS,
  },
];

const examples: readonly Part[] = listWorkspaces()
  .filter(({ path, manifest }) => path.startsWith("examples/") && manifest.scripts?.["test"] !== undefined)
  .map(({ path, manifest }) =>
    command(`example ${basename(path)}`, 10, "npm", "test", "--workspace", manifest.name),
  );

/** One benchmark of each kind of load; the others differ only in their parameters. */
const SMOKED = [
  "rpc-node",
  "rpc-bun",
  "fanout-node",
  "fanout-bun",
  "idle-node",
  "cluster-redis",
  "evaluate",
  "evaluate-large",
  "evaluate-http",
  "events-http",
  "latency",
];

/** After the rehearsal, which builds the packages. */
const size = tool("check-size", 5);

/** Alone and last: ten thousand connections at a time fail on a machine that is busy with other parts. */
const bench: readonly Part[] = existsSync(join(root, "bench", "run.ts"))
  ? [command("bench smoke", 15, "node", "bench/run.ts", "--smoke", ...SMOKED)]
  : [];

function command(name: string, minutes: number, program: string, ...args: readonly string[]): Part {
  return { name, command: program, args: () => args, timeoutMs: minutes * MINUTE_MS };
}

/** A tool of this folder, which counts its own steps. */
function tool(name: string, minutes: number): Part {
  return {
    name,
    command: "node",
    args: (report) => [`tools/${name}.ts`, "--report", report],
    count: (report) => JSON.parse(report),
    timeoutMs: minutes * MINUTE_MS,
  };
}

const results: Result[] = [await runPart(install)];
if (sum(results).failed === 0) {
  for (const part of alone) results.push(await runPart(part));
  results.push(...(await runPartsTogether([tool("rehearse", 20), ...examples], PARTS_TOGETHER)));
  for (const part of [size, ...bench]) results.push(await runPart(part));
}
console.log(`\n${summarize(results)}`);
process.exitCode = sum(results).failed === 0 ? 0 : 1;
