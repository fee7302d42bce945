/**
 * `npm run compare -- <commit>`: runs the same programs with the packages of a commit and with those of this checkout, and prints what
 * differs. `--small` takes seconds instead of minutes.
 */
import { parseArgs } from "node:util";
import { formatDuration } from "../process.ts";
import { root } from "../repository.ts";
import { installBuild } from "./builds.ts";
import { type Build, type Comparison, compareBuilds } from "./compare.ts";
import { type PartName, SIZES } from "./part.ts";

const DATABASES = ["sqlite", "postgres"] as const;
const NAMES = Object.keys(SIZES) as PartName[];

const { values, positionals } = parseArgs({
  options: {
    /** Only these parts. */
    part: { type: "string", multiple: true },
    database: { type: "string", multiple: true },
    seed: { type: "string", default: "1" },
    small: { type: "boolean", default: false },
    /** Instead of this checkout. */
    with: { type: "string" },
  },
  allowPositionals: true,
});

// An exit ends the processes that run the builds too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const [ref] = positionals;
if (ref === undefined || positionals.length > 1) {
  fail("Name one commit to compare with: npm run compare -- main");
} else {
  try {
    const parts = chosen(values.part, NAMES, "part");
    const databases = chosen(values.database, DATABASES, "database");
    const old = await installBuild(ref);
    const current: Build =
      values.with === undefined ? { name: "this checkout", folder: root } : await installBuild(values.with);
    console.log(`${old.name} and ${current.name}, seed ${values.seed}`);
    for (const database of databases) {
      for (const part of parts) await compare(part, database, [old, current]);
    }
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

async function compare(
  part: PartName,
  database: (typeof DATABASES)[number],
  builds: readonly [Build, Build],
): Promise<void> {
  const startedAt = performance.now();
  const size = SIZES[part][values.small ? "small" : "full"];
  const compared = await compareBuilds({ part, builds, database, seed: Number(values.seed), size });
  const duration = formatDuration(performance.now() - startedAt);
  const sign = compared.differing === 0 ? "✓" : "✗";
  console.log(
    `${sign} ${part} on ${database}: ${compared.differing} of ${compared.entries} entries differ (${size}, ${duration})`,
  );
  print(compared);
}

function print({ differing, differences }: Comparison): void {
  if (differing > 0) process.exitCode = 1;
  for (const { about, texts } of differences) {
    console.log(`\n  ${about.slice(0, 300)}\n  - ${texts[0]}\n  + ${texts[1]}`);
  }
  if (differing > differences.length) console.log(`\n  … and ${differing - differences.length} more`);
}

function chosen<Name extends string>(
  given: readonly string[] | undefined,
  names: readonly Name[],
  option: string,
): readonly Name[] {
  if (given === undefined) return names;
  const unknown = given.find((name) => !names.some((known) => known === name));
  if (unknown !== undefined) {
    throw new Error(`--${option} "${unknown}" is unknown. Use one of: ${names.join(", ")}.`);
  }
  return names.filter((name) => given.includes(name));
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
