/** A step is one named check. Runs steps one after the other, all of them, and says how each went. */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { formatDuration } from "./process.ts";

export interface Outcome {
  readonly ok: boolean;
  /** Shown only when the step failed. */
  readonly output: string;
}

export interface Step {
  readonly name: string;
  run(): Promise<Outcome> | Outcome;
}

/** How many passed and failed; `ci` adds these up. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** What failed, a line each, where the count knows it. */
  readonly failures?: readonly string[];
}

/** Turns a list of problems into an outcome: none is good. */
export function expectNone(problems: readonly string[]): Outcome {
  return { ok: problems.length === 0, output: problems.join("\n") };
}

/** Runs the steps and prints one line each; an exception fails its step only. */
export async function runSteps(steps: readonly Step[]): Promise<Tally> {
  const width = Math.max(...steps.map((step) => step.name.length));
  let failed = 0;
  for (const step of steps) {
    const startedAt = performance.now();
    const outcome = await attempt(step);
    const duration = formatDuration(performance.now() - startedAt).padStart(7);
    console.log(`${outcome.ok ? "✓" : "✗"} ${step.name.padEnd(width)} ${duration}`);
    if (outcome.ok) continue;
    failed += 1;
    console.log(`\n${outcome.output.trim()}\n`);
  }
  return { passed: steps.length - failed, failed };
}

/**
 * The command line all check tools share: `[name…]` picks steps whose name starts so, `--report <file>` also
 * writes the tally as JSON.
 */
export async function runStepsFromCommandLine(steps: readonly Step[]): Promise<void> {
  const options = { report: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const tally = await runSteps(choose(steps, positionals));
  if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(tally));
  process.exitCode = tally.failed === 0 ? 0 : 1;
}

function choose(steps: readonly Step[], names: readonly string[]): readonly Step[] {
  const unknown = names.find((name) => !steps.some((step) => step.name.startsWith(name)));
  if (unknown !== undefined) {
    const known = steps.map((step) => step.name).join(", ");
    throw new Error(`There is no step "${unknown}". Steps: ${known}.`);
  }
  if (names.length === 0) return steps;
  return steps.filter((step) => names.some((name) => step.name.startsWith(name)));
}

async function attempt(step: Step): Promise<Outcome> {
  try {
    return await step.run();
  } catch (error) {
    return { ok: false, output: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
