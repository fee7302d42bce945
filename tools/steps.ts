/** A step is one named check. Runs all steps, a few at a time, and reports them in the order of the list. */

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

/** The numbers of passed and failed steps or tests; `ci` adds them up. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** One line per failure, where the report names it. */
  readonly failures?: readonly string[];
}

/** The step passes when the list of problems is empty. */
export function expectNone(problems: readonly string[]): Outcome {
  return { ok: problems.length === 0, output: problems.join("\n") };
}

/**
 * Runs the steps, at most `concurrency` at a time, and prints a line for each in the order of the list.
 * An exception fails only the step that threw it.
 */
export async function runSteps(steps: readonly Step[], concurrency = 1): Promise<Tally> {
  const width = Math.max(0, ...steps.map((step) => step.name.length));
  let failed = 0;
  const report = (step: Step, { ok, output, durationMs }: Timed): void => {
    console.log(`${ok ? "✓" : "✗"} ${step.name.padEnd(width)} ${formatDuration(durationMs).padStart(7)}`);
    if (ok) return;
    failed += 1;
    console.log(`\n${output.trim()}\n`);
  };

  const finished = new Map<Step, Timed>();
  let started = 0;
  let reported = 0;
  const work = async (): Promise<void> => {
    for (let step = steps[started++]; step !== undefined; step = steps[started++]) {
      finished.set(step, await attempt(step));
      // Results are printed in order, so a step may have to wait for those before it.
      for (let next = steps[reported]; next !== undefined; next = steps[reported]) {
        const outcome = finished.get(next);
        if (outcome === undefined) break;
        report(next, outcome);
        reported += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { passed: steps.length - failed, failed };
}

interface Timed extends Outcome {
  readonly durationMs: number;
}

export interface CommandLine {
  /** Steps to run: those whose name starts with one of these, or all when there are none. */
  readonly names: readonly string[];
  /** File for the tally, as JSON. */
  readonly report: string | undefined;
  /** Check only what the current change touches. */
  readonly changed: boolean;
}

/** Reads the command line that the check tools share: `[name…] [--changed] [--report <file>]`. */
export function readCommandLine(): CommandLine {
  const options = { report: { type: "string" }, changed: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  return { names: positionals, report: values.report, changed: values.changed };
}

export interface ChosenStepsOptions<S extends Step> {
  readonly concurrency?: number;
  /** Whether the current change can change the step's outcome. Without it, every step runs. */
  readonly isNeeded?: (step: S) => boolean;
}

/** Runs the steps that the command line names, and sets the exit code. Prints which of them are not needed. */
export async function runChosenSteps<S extends Step>(
  steps: readonly S[],
  { names, report }: CommandLine,
  { concurrency = 1, isNeeded = () => true }: ChosenStepsOptions<S> = {},
): Promise<void> {
  const chosen = chooseSteps(steps, names);
  const skipped = chosen.filter((step) => !isNeeded(step));
  if (skipped.length > 0) {
    console.log(`Not concerned by this change: ${skipped.map(({ name }) => name).join(", ")}.`);
  }
  const tally = await runSteps(chosen.filter(isNeeded), concurrency);
  if (report !== undefined) writeFileSync(report, JSON.stringify(tally));
  process.exitCode = tally.failed === 0 ? 0 : 1;
}

function chooseSteps<S extends Step>(steps: readonly S[], names: readonly string[]): readonly S[] {
  const unknown = names.find((name) => !steps.some((step) => step.name.startsWith(name)));
  if (unknown !== undefined) {
    const available = steps.map((step) => step.name).join(", ");
    throw new Error(`No step is called "${unknown}". Use one of: ${available}.`);
  }
  if (names.length === 0) return steps;
  return steps.filter((step) => names.some((name) => step.name.startsWith(name)));
}

async function attempt(step: Step): Promise<Timed> {
  const startedAt = performance.now();
  let outcome: Outcome;
  try {
    outcome = await step.run();
  } catch (error) {
    outcome = { ok: false, output: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  return { ...outcome, durationMs: performance.now() - startedAt };
}
