/** A part is one command of the whole run. Runs parts one after the other, counts and times them, and sums up. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatDuration, run } from "./process.ts";
import type { Tally } from "./steps.ts";

export interface Part {
  readonly name: string;
  readonly command: string;
  /** Given the path at which the part may leave a report. */
  readonly args: (report: string) => readonly string[];
  /** Reads the report; without it, or without a report, the part counts as one. */
  readonly count?: (report: string) => Tally;
}

export interface Result extends Tally {
  readonly name: string;
  readonly durationMs: number;
}

/** Runs one part, its output shown as it comes. A part that hangs is ended and has failed. */
export async function runPart(part: Part, timeoutMs: number): Promise<Result> {
  console.log(`\n──── ${part.name} ${"─".repeat(Math.max(0, 60 - part.name.length))}`);
  const folder = mkdtempSync(join(tmpdir(), "halyard-ci-"));
  try {
    const report = join(folder, "report.json");
    const { ok, durationMs } = await run(part.command, part.args(report), { live: true, timeoutMs });
    const tally = readTally(part, report) ?? { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
    // A part that broke outside its tests has failed, whatever its tests say.
    return { name: part.name, durationMs, ...tally, failed: ok ? tally.failed : Math.max(1, tally.failed) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Counts the tests of a vitest JSON report. */
export function countVitest(report: string): Tally {
  const { numPassedTests, numFailedTests } = JSON.parse(report);
  return { passed: numPassedTests, failed: numFailedTests };
}

/** A table of the parts, and the line that tools read: `N passed, N failed`, alone and last. */
export function summarize(results: readonly Result[]): string {
  const width = Math.max(...results.map((result) => result.name.length), 4) + 2;
  const row = (name: string, ...cells: readonly unknown[]): string =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(9)).join("");
  const total = sum(results);
  return [
    row("part", "time", "passed", "failed"),
    ...results.map((part) => row(part.name, formatDuration(part.durationMs), part.passed, part.failed)),
    "",
    `${total.passed} passed, ${total.failed} failed`,
  ].join("\n");
}

export function sum(results: readonly Tally[]): Tally {
  const add = (key: keyof Tally): number => results.reduce((total, result) => total + result[key], 0);
  return { passed: add("passed"), failed: add("failed") };
}

function readTally(part: Part, report: string): Tally | undefined {
  if (part.count === undefined || !existsSync(report)) return undefined;
  return part.count(readFileSync(report, "utf8"));
}
