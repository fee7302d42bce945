/** A part is one command of the whole run. Runs parts, counts and times them, and adds up the results. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { formatDuration, run } from "./process.ts";
import { root } from "./repository.ts";
import type { Tally } from "./steps.ts";

export interface Part {
  readonly name: string;
  readonly command: string;
  /** Receives the path of the file to which the part may write a report. */
  readonly args: (report: string) => readonly string[];
  /** Reads the report; without it, or without a report, the part counts as one. */
  readonly count?: (report: string) => Tally;
  /** A part that runs longer is ended and has failed. */
  readonly timeoutMs: number;
}

export interface Result extends Tally {
  readonly name: string;
  readonly durationMs: number;
}

/** Runs one part and shows its output as it comes. */
export function runPart(part: Part): Promise<Result> {
  console.log(formatTitle(part));
  return runAndCount(part, true);
}

/** Runs parts, at most `concurrency` at a time. Shows the output of each when it has ended. */
export async function runPartsTogether(parts: readonly Part[], concurrency: number): Promise<Result[]> {
  const results: Result[] = [];
  let started = 0;
  const work = async (): Promise<void> => {
    for (let index = started++; index < parts.length; index = started++) {
      const part = parts[index];
      if (part !== undefined) results[index] = await runAndCount(part, false);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

async function runAndCount(part: Part, live: boolean): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "halyard-ci-"));
  try {
    const report = join(folder, "report.json");
    const { timeoutMs } = part;
    const { ok, output, durationMs } = await run(part.command, part.args(report), { live, timeoutMs });
    if (!live) console.log(`${formatTitle(part)}\n${output.trim()}`);
    const tally = readTally(part, report) ?? { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
    // A part that failed outside its tests has failed, even if every test passed.
    return { name: part.name, durationMs, ...tally, failed: ok ? tally.failed : Math.max(1, tally.failed) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function formatTitle({ name }: Part): string {
  return `\n──── ${name} ${"─".repeat(Math.max(0, 60 - name.length))}`;
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults?: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** Counts the tests of a vitest JSON report, and names those that failed with the first line of the reason. */
export function countVitest(report: string): Tally {
  const { numPassedTests, numFailedTests, testResults = [] }: VitestReport = JSON.parse(report);
  const failures = testResults.flatMap((file) => {
    const path = relative(root, file.name);
    const failed = file.assertionResults.filter((test) => test.status === "failed");
    // A file that failed without a failed test did not load.
    if (failed.length === 0) return file.status === "failed" ? [`${path}: ${firstLine(file.message)}`] : [];
    return failed.map((test) => `${path}: ${test.fullName}: ${firstLine(test.failureMessages?.[0])}`);
  });
  return { passed: numPassedTests, failed: Math.max(numFailedTests, failures.length), failures };
}

function firstLine(text = ""): string {
  return text.split("\n", 1)[0] ?? "";
}

/** A table of the parts, and as the last line the one that tools read: `N passed, N failed`. */
export function summarize(results: readonly Result[]): string {
  const width = Math.max(...results.map((result) => result.name.length), 4) + 2;
  const row = (name: string, ...cells: readonly unknown[]): string =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(9)).join("");
  const total = sum(results);
  return [
    row("part", "time", "passed", "failed"),
    ...results.map((part) => row(part.name, formatDuration(part.durationMs), part.passed, part.failed)),
    "",
    ...results.flatMap(({ name, failures = [] }) =>
      failures.map((failure) => `failed in ${name}: ${failure}`),
    ),
    `${total.passed} passed, ${total.failed} failed`,
  ].join("\n");
}

export function sum(results: readonly Tally[]): Tally {
  const add = (key: "passed" | "failed"): number => results.reduce((total, result) => total + result[key], 0);
  return { passed: add("passed"), failed: add("failed") };
}

function readTally(part: Part, report: string): Tally | undefined {
  if (part.count === undefined || !existsSync(report)) return undefined;
  return part.count(readFileSync(report, "utf8"));
}
