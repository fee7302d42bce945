/** What `.ci/run` runs: installs, then every check and test there is, and one line that says how many passed. */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { countVitest, type Part, runPart, sum, summarize } from "./parts.ts";
import { bin } from "./process.ts";
import { listWorkspaces, root } from "./repository.ts";

const TIMEOUT_MS = 25 * 60_000;

// One change, one answer: random tests look at the same cases each time here, and elsewhere at new ones.
process.env["HALYARD_SEED"] ??= "1";

function plan(): Part[] {
  return [
    command("services", "node", "services/cli.ts", "up"),
    tool("check"),
    command("build", bin("tsc"), "-b", "tsconfig.build.json"),
    {
      name: "test",
      command: bin("vitest"),
      args: (report) => ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
      count: countVitest,
    },
    tool("check-packages"),
    tool("check-size"),
    ...listWorkspaces()
      .filter(
        ({ path, manifest }) => path.startsWith("examples/") && manifest.scripts?.["test"] !== undefined,
      )
      .map(({ path, manifest }) =>
        command(`example ${basename(path)}`, "npm", "test", "--workspace", manifest.name),
      ),
    ...(existsSync(join(root, "bench", "run.ts"))
      ? [command("bench smoke", "node", "bench/run.ts", "--smoke")]
      : []),
  ];
}

function command(name: string, program: string, ...args: readonly string[]): Part {
  return { name, command: program, args: () => args };
}

/** A tool of ours, which counts its own steps. */
function tool(name: string): Part {
  return {
    name,
    command: "node",
    args: (report) => [`tools/${name}.ts`, "--report", report],
    count: (report) => JSON.parse(report),
  };
}

const results = [await runPart(command("install", "npm", "ci"), TIMEOUT_MS)];
if (sum(results).failed === 0) {
  for (const part of plan()) results.push(await runPart(part, TIMEOUT_MS));
}
console.log(`\n${summarize(results)}`);
process.exitCode = sum(results).failed === 0 ? 0 : 1;
