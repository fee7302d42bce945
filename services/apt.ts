// Installing Debian's packages, where that is possible without asking anybody.
import { findProgram, isRoot } from "./machine.ts";
import { run } from "./run.ts";
import { reasonOf } from "./server.ts";

let updated: Promise<string> | undefined;

/** The words before `apt-get`: none for root, `sudo` where it needs no password; a string says why not. */
async function permission(): Promise<readonly string[] | string> {
  if (findProgram("apt-get") === undefined) return "there is no apt-get on this machine";
  if (isRoot()) return [];
  const sudo = findProgram("sudo");
  if (sudo === undefined) return "apt-get needs root, and there is no sudo";
  try {
    await run({ command: sudo, args: ["-n", "true"] });
    return [sudo, "-n"];
  } catch {
    return "apt-get needs root, and sudo asks for a password";
  }
}

/** Installs the packages. Resolves with the reason when this machine does not allow it. */
export async function installPackages(packages: readonly string[]): Promise<string | undefined> {
  const prefix = await permission();
  if (typeof prefix === "string") return prefix;
  const aptGet = (...args: string[]) => {
    // At run level 1 a package does not start its server: the one to start is ours, with its own data.
    const words = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", ...args];
    const [command = "env", ...rest] = words;
    return run({ command, args: rest });
  };
  // The only step that takes a minute and more: not to be waited for in silence.
  console.error(`Installing ${packages.join(" ")} with apt-get ...`);
  try {
    // One source that cannot be reached fails the update, while the package may be in another.
    updated ??= aptGet("update").catch(reasonOf);
    await updated;
    await aptGet("install", "-y", "--no-install-recommends", ...packages);
    return undefined;
  } catch (error) {
    return `apt-get install ${packages.join(" ")} failed: ${reasonOf(error)}`;
  }
}
