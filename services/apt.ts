// Installs Debian packages where that needs no interaction.
import { findProgram, isRoot } from "./machine.ts";
import { run } from "./run.ts";
import { reasonOf } from "./server.ts";

let updated: Promise<string> | undefined;

/** The command prefix of `apt-get`: empty for root, `sudo` where it needs no password. A string is the reason why neither works. */
async function permission(): Promise<readonly string[] | string> {
  if (findProgram("apt-get") === undefined) return "this machine has no apt-get";
  if (isRoot()) return [];
  const sudo = findProgram("sudo");
  if (sudo === undefined) return "apt-get needs root, and sudo is not installed";
  try {
    await run({ command: sudo, args: ["-n", "true"] });
    return [sudo, "-n"];
  } catch {
    return "apt-get needs root, and sudo asks for a password";
  }
}

/** Installs the packages. Resolves to the reason when this machine does not allow it. */
export async function installPackages(packages: readonly string[]): Promise<string | undefined> {
  const prefix = await permission();
  if (typeof prefix === "string") return prefix;
  const aptGet = (...args: string[]) => {
    // At run level 1 a package does not start its server, because `up` starts one with separate data.
    const words = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", ...args];
    const [command = "env", ...rest] = words;
    return run({ command, args: rest });
  };
  // The only step that takes a minute or more, so it is announced.
  console.error(`Installing ${packages.join(" ")} with apt-get ...`);
  try {
    // An unreachable source fails the update, but the package may be in another source.
    updated ??= aptGet("update").catch(reasonOf);
    await updated;
    await aptGet("install", "-y", "--no-install-recommends", ...packages);
    return undefined;
  } catch (error) {
    return `apt-get install ${packages.join(" ")} failed: ${reasonOf(error)}`;
  }
}
