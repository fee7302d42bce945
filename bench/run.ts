/** `npm run bench [-- name…]` measures, prints the tables, and ends each with a line that states whether the goal is reached. */
import { parseArgs } from "node:util";
import { buildPackages } from "./build.ts";
import { compileGenerator } from "./generator.ts";
import { explainStrays, formatGoal, formatValue, judge, MIN_ROUNDS } from "./judge.ts";
import { type Effort, loadMeasurements, type Measurement } from "./measurement.ts";
import { describeRivals, type Outcome } from "./page.ts";
import { publish } from "./publication.ts";

type Plan = Omit<Effort, "onRound"> & { readonly judged: boolean };

const FULL: Plan = { rounds: MIN_ROUNDS, warmSeconds: 3, measuredSeconds: 4, judged: true };
const SMOKE: Plan = { rounds: 1, warmSeconds: 0.3, measuredSeconds: 0.5, judged: false };

const OPTIONS = {
  list: { type: "boolean", default: false },
  report: { type: "boolean", default: false },
  smoke: { type: "boolean", default: false },
  rounds: { type: "string" },
} as const;

/** Whether all goals were reached. */
async function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  // Before anything is loaded, because some measurements import the packages.
  await buildPackages();
  const known = await loadMeasurements();
  const chosen = choose(known, positionals);
  const plan = planOf(values.smoke, values.rounds);
  if (values.list) {
    for (const { name, about, goal } of chosen) console.log(`${name}: ${about} (goal ${formatGoal(goal)})`);
    return true;
  }
  await compileGenerator();
  const outcomes: Outcome[] = [];
  for (const measurement of chosen) {
    // A failed measurement must not hide the results of the others.
    const outcome = await measure(measurement, plan).catch((error: unknown) =>
      complain(measurement.name, error),
    );
    if (outcome) outcomes.push(outcome);
  }
  if (values.report) {
    const names = known.map(({ name }) => name);
    const folder = await publish(outcomes, names, plan.judged && plan.rounds >= MIN_ROUNDS);
    console.log(`\nThe report is in ${folder}.`);
  }
  const reached = outcomes.every(({ verdict }) => verdict.ok || !plan.judged);
  return reached && outcomes.length === chosen.length;
}

function choose(known: readonly Measurement[], names: readonly string[]): readonly Measurement[] {
  const unknown = names.find((name) => !known.some((measurement) => measurement.name === name));
  if (unknown !== undefined) {
    const list = known.map((measurement) => measurement.name).join(", ");
    throw new Error(`Unknown measurement "${unknown}". Use one of: ${list}.`);
  }
  return names.length === 0 ? known : known.filter((measurement) => names.includes(measurement.name));
}

function planOf(smoke: boolean, rounds: string | undefined): Plan {
  if (rounds === undefined) return smoke ? SMOKE : FULL;
  if (smoke)
    throw new Error("--smoke is one short round and cannot be combined with --rounds. Use one of them.");
  if (!/^[1-9]\d*$/.test(rounds))
    throw new Error(`--rounds must be an integer of at least 1, not "${rounds}".`);
  return { ...FULL, rounds: Number(rounds) };
}

async function measure(measurement: Measurement, plan: Plan): Promise<Outcome> {
  const { name, about, goal } = measurement;
  console.log(`\n${name}: ${about}`);
  const onRound = (round: number): void => console.error(`round ${round} of ${plan.rounds} done`);
  const finding = await measurement.run({ ...plan, onRound });
  console.log(`\n${finding.report}\n`);
  const verdict = judge(finding.figures, goal);
  const { table, doubts, chart, rivals } = finding;
  const rounds = finding.figures.length;
  const outcome: Outcome = { name, about, goal, rounds, verdict, table, doubts, chart, rivals };
  const figure = `${name}: ${formatValue(verdict.value, goal)} (goal ${formatGoal(goal)})`;
  if (!plan.judged) {
    console.log(`${figure} smoke, not judged`);
    return outcome;
  }
  if (plan.rounds < MIN_ROUNDS) {
    console.log(`${plan.rounds} rounds give only a hint. A reliable verdict needs at least ${MIN_ROUNDS}.`);
  }
  const strays = explainStrays(verdict, goal);
  if (strays !== undefined) console.log(strays);
  if (rivals.length > 0) console.log(describeRivals([outcome]));
  console.log(`${figure} ${verdict.ok ? "ok" : "short"}`);
  return outcome;
}

function complain(subject: string, error: unknown): undefined {
  console.error(`\n${subject}: ${error instanceof Error ? error.message : error}`);
}

const good = await main().catch((error: unknown) => complain("bench", error));
process.exitCode = good === true ? 0 : 1;
