/** The load generator. It is compiled from `generator/*.c` when its source has changed, and runs on its own core. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cache } from "./build.ts";
import { pin } from "./pinning.ts";

const SOURCES = join(import.meta.dirname, "generator");
const FLAGS = ["-O2", "-Wall", "-Wextra"];
/** Connecting and subscribing may take 30 s each. The generator has its own timeout. */
const GRACE_SECONDS = 70;

// --- compiling ---

/** Compiles the generator unless this source has been compiled before. Returns the path of the program. */
export async function compileGenerator(): Promise<string> {
  if (process.platform !== "linux") {
    throw new Error(
      "The load generator needs Linux, because it uses epoll and /proc. Run the benches on Linux or in a container.",
    );
  }
  const program = join(cache, `wsload-${fingerprint()}`);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  // Compiled under another name first, so that another run never finds an incomplete program.
  const draft = `${program}.${process.pid}`;
  await compile(draft);
  renameSync(draft, program);
  return program;
}

function fingerprint(): string {
  const hash = createHash("sha256").update(FLAGS.join(" "));
  for (const file of readdirSync(SOURCES).sort()) hash.update(file).update(readFileSync(join(SOURCES, file)));
  return hash.digest("hex").slice(0, 16);
}

async function compile(output: string): Promise<void> {
  const files = readdirSync(SOURCES).filter((file) => file.endsWith(".c"));
  try {
    await promisify(execFile)("cc", [...FLAGS, "-o", output, ...files], { cwd: SOURCES });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      throw new Error(
        'The C compiler "cc" was not found, and the load generator is written in C. Install one, on Debian with: apt-get install gcc libc6-dev',
        { cause },
      );
    }
    throw new Error(
      `The load generator does not compile: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    );
  }
}

// --- running ---

/** The JSON that the generator prints, and its other output. `seconds` is the expected duration. */
export async function runGenerator(
  args: readonly string[],
  seconds: number,
): Promise<{ result: unknown; complaints: string }> {
  const generator = pin("generator", { command: await compileGenerator(), args });
  const timeout = (seconds + GRACE_SECONDS) * 1000;
  const { stdout, stderr } = await promisify(execFile)(generator.command, generator.args, { timeout });
  return { result: JSON.parse(stdout), complaints: stderr };
}
