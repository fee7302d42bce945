/** Runs one part in two builds on copies of one database, and lists what differs. */
import { spawn } from "node:child_process";
import { copyFileSync, createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createPostgresDatabase } from "@halyard/services";
import { root } from "../repository.ts";
import { listIds, Masker } from "./masker.ts";
import type { Entry, Order, PartName } from "./part.ts";

export interface Build {
  readonly name: string;
  /** The checkout with its installed packages. */
  readonly folder: string;
  /** Modules that its processes load first. */
  readonly preloads?: readonly string[];
}

export interface ComparisonOptions {
  readonly part: PartName;
  readonly builds: readonly [Build, Build];
  readonly database: "sqlite" | "postgres";
  readonly seed: number;
  readonly size: number;
}

export interface Difference {
  readonly about: string;
  /** The masked text of each build, around the first character that differs. */
  readonly texts: readonly [string, string];
}

export interface Comparison {
  /** The number of entries that were compared. */
  readonly entries: number;
  readonly differing: number;
  /** The first differences. */
  readonly differences: readonly Difference[];
}

const MAX_DIFFERENCES = 20;
/** Characters before and after the first one that differs. */
const CONTEXT = [120, 240] as const;

export async function compareBuilds(options: ComparisonOptions): Promise<Comparison> {
  const { part, builds, seed, size } = options;
  const parent = join(root, ".tmp", "compare");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "run-"));
  const drops: (() => Promise<void>)[] = [];
  try {
    const template = await createDatabase(options, join(folder, "template.db"), drops);
    const prepared = join(folder, "prepared.jsonl");
    await runProgram(builds[0], { part, database: template, output: prepared, seed, size });
    const outputs: string[] = [];
    const orders: Order[] = [];
    for (const at of builds.keys()) {
      const output = join(folder, `${at}.jsonl`);
      const database = await createDatabase(options, join(folder, `${at}.db`), drops, template);
      orders.push({ part, database, output, seed, size, prepared });
      outputs.push(output);
    }
    await Promise.all(
      orders.map((order, at) => {
        const build = builds[at];
        return build && runProgram(build, order);
      }),
    );
    const [one = "", other = ""] = outputs;
    return await compareOutputs(one, other, listIds(readFileSync(prepared, "utf8")));
  } finally {
    for (const drop of drops) await drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves to what names the database in an order. */
async function createDatabase(
  { database }: ComparisonOptions,
  path: string,
  drops: (() => Promise<void>)[],
  copyOf?: string,
): Promise<string> {
  if (database === "sqlite") {
    if (copyOf !== undefined) copyFileSync(copyOf, path);
    return path;
  }
  const { url, drop } = await createPostgresDatabase(copyOf === undefined ? {} : { copyOf });
  drops.push(drop);
  return url;
}

function runProgram({ name, folder, preloads = [] }: Build, order: Order): Promise<void> {
  const imports = [join(import.meta.dirname, "from-build.ts"), ...preloads].flatMap((file) => [
    "--import",
    file,
  ]);
  const args = ["--conditions=@halyard/source", ...imports, join(import.meta.dirname, "program.ts")];
  const child = spawn(process.execPath, [...args, JSON.stringify(order)], {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, HALYARD_BUILD: folder, NODE_OPTIONS: undefined },
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-20_000);
  });
  const stop = () => child.kill();
  process.once("exit", stop);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      process.off("exit", stop);
      if (code === 0) resolve();
      else reject(new Error(`${name}, ${order.part}: the process ended with ${signal ?? code}:\n${errors}`));
    });
  });
}

async function* readLines(file: string): AsyncGenerator<string, undefined> {
  yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  return undefined;
}

async function compareOutputs(one: string, other: string, known: ReadonlySet<string>): Promise<Comparison> {
  const nowMs = Date.now();
  const maskers = [new Masker(known, nowMs), new Masker(known, nowMs)] as const;
  const lines = [readLines(one), readLines(other)] as const;
  const differences: Difference[] = [];
  let [entries, differing] = [0, 0];
  for (;;) {
    const [first, second] = [await lines[0].next(), await lines[1].next()];
    if (first.value === undefined && second.value === undefined) return { entries, differing, differences };
    entries += 1;
    const [left, right] = [render(maskers[0], first.value), render(maskers[1], second.value)];
    if (left.text === right.text) continue;
    differing += 1;
    if (differences.length === MAX_DIFFERENCES) continue;
    const about = left.about === right.about ? left.about : `${left.about} | ${right.about}`;
    differences.push({ about, texts: excerpts(left.text, right.text) });
  }
}

function render(masker: Masker, line: string | undefined): { about: string; text: string } {
  if (line === undefined) return { about: "nothing", text: "" };
  const { about, seen, rows }: Entry = JSON.parse(line);
  if (rows === undefined) return { about, text: masker.mask(JSON.stringify([about, seen])) };
  return { about, text: masker.maskSorted(rows.map((row) => JSON.stringify(row))).join("\n") };
}

function excerpts(one: string, other: string): [string, string] {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const excerpt = (text: string) => text.slice(Math.max(0, at - CONTEXT[0]), at + CONTEXT[1]);
  return [excerpt(one), excerpt(other)];
}
