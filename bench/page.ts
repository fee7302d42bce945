/** The page `docs/performance.md`: every measurement as a table and a chart. Pure: it writes nothing. */
import { drawChart } from "./chart.ts";
import { formatGoal, formatValue, type Verdict } from "./judge.ts";
import type { Finding, Measurement } from "./measurement.ts";
import { formatMarkdownTable } from "./table.ts";

/** The result of a measurement as far as the page shows it. Plain data that is stored beside the page. */
export interface Outcome
  extends Pick<Measurement, "name" | "about" | "goal">,
    Pick<Finding, "table" | "doubts" | "chart" | "rivals"> {
  readonly rounds: number;
  readonly verdict: Verdict;
  /** The commit that was measured. Absent in older records. */
  readonly commit?: string;
}

/** The environment of the measurement. A date or a machine name would say less and change with every run. */
export interface Setting {
  readonly cores: number;
  /** For example `Node 24.0.0`. */
  readonly runtimes: readonly string[];
  /** For example `ws 8.0.0`. */
  readonly libraries: readonly string[];
}

/** By path, relative to the page's folder. */
export type Pages = ReadonlyMap<string, string>;

const PAGE = "performance.md";
const CHARTS = "performance";

export function renderPages(outcomes: readonly Outcome[], setting: Setting): Pages {
  const charts = outcomes.map(({ name, chart }): [string, string] => [chartPath(name), drawChart(chart)]);
  return new Map([[PAGE, renderPage(outcomes, setting)], ...charts]);
}

function chartPath(name: string): string {
  return `${CHARTS}/${name}.svg`;
}

function renderPage(outcomes: readonly Outcome[], setting: Setting): string {
  return [
    "# Performance",
    "<!-- Written by `npm run bench -- --report`. Do not edit: the next report replaces what it measures. -->",
    "What Halyard costs over the bare engine, and how it compares with other libraries.",
    `Measured on ${setting.cores} cores with ${setting.runtimes.join(" and ")}; ${setting.libraries.join(", ")}.`,
    "## Goals",
    renderGoals(outcomes),
    describeRivals(outcomes),
    HOW_TO_READ,
    ...outcomes.map(renderSection),
    HOW_TO_REPRODUCE,
    "",
  ].join("\n\n");
}

function renderGoals(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ name, goal, verdict }) => [
    `[${name}](#${name})`,
    formatGoal(goal),
    formatValue(verdict.value, goal),
    verdict.ok ? "reached" : "**short**",
  ]);
  return formatMarkdownTable([["measurement", "goal", "measured", ""], ...rows]);
}

/** The goal without its own figure: to be ahead of every other library. */
export function describeRivals(outcomes: readonly Pick<Outcome, "name" | "rivals">[]): string {
  const rivals = outcomes.flatMap(({ name, rivals: behind }) =>
    behind.map((rival) => ({ ...rival, where: name })),
  );
  const names = [...new Set(rivals.map(({ name }) => name))].join(", ");
  if (rivals.length === 0) return "No other library was measured.";
  const behind = rivals.filter(({ lead }) => lead <= 1);
  if (behind.length === 0) return `Ahead of every other library in requests and fan-out (${names}): reached.`;
  const list = behind.map(({ name, where, lead }) => `${name} in ${where} (CPU ratio ${lead.toFixed(2)})`);
  return `Ahead of every other library in requests and fan-out (${names}): short, behind ${list.join(", ")}.`;
}

function renderSection({
  name,
  about,
  goal,
  rounds,
  verdict,
  commit,
  table,
  doubts,
  chart,
}: Outcome): string {
  const source = commit === undefined ? "" : `, at commit ${commit}`;
  const figure = `${formatValue(verdict.value, goal)} (goal ${formatGoal(goal)})${source}`;
  return [
    `## ${name}`,
    `${about}.`,
    `![${chart.title}](${chartPath(name)})`,
    formatMarkdownTable(table),
    [`Median of ${rounds} rounds: ${figure}.`, ...doubts].join(" "),
  ].join("\n\n");
}

const HOW_TO_READ = `## How to read this

Absolute figures are those of one machine in one hour; compare ratios, and within one section only: sections are measured one by one, and newer ones name their commit.

- **CPU ratio**: CPU time the other server needs for an operation, divided by what Halyard needs. Above 1 Halyard is cheaper. The goals are about this one, against the first server below Halyard, because on a shared machine it moves least.
- **rate ratio**: Halyard's operations per second divided by the other's. Above 1 Halyard is faster.
- An operation is a request with its answer, or the delivery of one message to one subscriber.
- **KB a connection**: memory of the process with all connections open and idle, less its memory before, both after a garbage collection, divided by their number. Buffers of the kernel are not in it.
- Servers run in turn, each in a fresh process on a core of its own, all of them once a round. Other libraries run in three rounds, so read them as an idea of the field.
- Halyard checks payloads by schema on the way in and out. So do tRPC and ws-kit; Elysia checks on the way in; Socket.IO does not check.`;

const HOW_TO_REPRODUCE = `## How to reproduce

On Linux with a C compiler and at least two cores, with nothing else running:

\`\`\`sh
npm ci
npm run bench -- --report             # all of it; writes this page
npm run bench -- rpc-node --report    # one measurement, and its section of this page
\`\`\`

The servers, the load generator and the rules of judging are in \`bench/\`; its README explains them.`;
