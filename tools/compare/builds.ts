/** Installs other commits of this repository, each in a clone of its own that later comparisons reuse. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../process.ts";
import { root } from "../repository.ts";
import type { Build } from "./compare.ts";

const INSTALL_TIMEOUT_MS = 20 * 60_000;

/** The sources of a commit with their packages. Programs run the sources, so nothing is compiled. */
export async function installBuild(ref: string): Promise<Build> {
  const commit = (await must(root, "git", "rev-parse", "--verify", `${ref}^{commit}`)).trim();
  const folder = join(root, ".tmp", "compare", "builds", commit);
  const installed = join(folder, ".tmp", "installed");
  if (!existsSync(installed)) {
    rmSync(folder, { recursive: true, force: true });
    await must(root, "git", "clone", "--quiet", "--no-checkout", root, folder);
    await must(folder, "git", "checkout", "--quiet", "--detach", commit);
    await must(folder, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error");
    mkdirSync(join(folder, ".tmp"), { recursive: true });
    writeFileSync(installed, "");
  }
  return { name: `${ref} (${commit.slice(0, 7)})`, folder };
}

async function must(cwd: string, command: string, ...args: string[]): Promise<string> {
  const { ok, output, stdout } = await run(command, args, { cwd, timeoutMs: INSTALL_TIMEOUT_MS });
  if (ok) return stdout;
  throw new Error(`${command} ${args.join(" ")} failed in ${cwd}:\n${output}`);
}
