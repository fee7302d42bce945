/** Lets processes die inside writes of flags, one after the other, and compares what is left. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { createRandom } from "./engine/random.ts";
import { compare, type Findings } from "./flag-lives.ts";
import { startHost } from "./host.ts";

const WRITER = fileURLToPath(new URL("fixtures/flag-writer.ts", import.meta.url));

/** Statements of a life of six changes: about 12 each. */
const MAX_STATEMENTS = 90;

export async function runDeaths({ deaths, seed }: { deaths: number; seed: number }): Promise<Findings> {
  const random = createRandom(seed);
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 4 });
  const host = await startHost({ database: pool });
  try {
    const history = new Map<string, boolean>();
    for (let death = 0; death < deaths; death++) {
      const [ownSeed, statements] = [random.below(2 ** 31), 1 + random.below(MAX_STATEMENTS)];
      for (const line of await writeUntilDeath([url, `p${death}`, String(ownSeed), String(statements)])) {
        const [what, token = ""] = line.split(" ");
        history.set(token, what === "ok");
      }
    }
    return await compare(host, history);
  } finally {
    await host.close();
    await pool.end();
    await drop();
  }
}

/** Runs a writer until it has killed itself, and returns the lines that it printed. */
function writeUntilDeath(args: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@halyard/source", WRITER, ...args], {
      env: { ...process.env, NODE_OPTIONS: undefined },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (signal === "SIGKILL") resolve(text.split("\n").slice(0, -1));
      else reject(new Error(`The writer ended with code ${code} and did not kill itself.`));
    });
  });
}
