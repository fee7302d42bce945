// Writes the results of a long suite for readers.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Evidence {
  /** What was run, in one or two sentences. */
  readonly what: string;
  /** The size of the run. */
  readonly size: string;
  /** What the checker read, and what it checks. */
  readonly checked: string;
  /** The suite's file, from the repository's root, to repeat the run. */
  readonly suite: string;
  readonly seed?: number;
  /** By column, such as a runtime, then by name. All columns have the same names. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

const FOLDER = new URL("../docs/evidence/", import.meta.url);

/** Writes `docs/evidence/<name>.md`, under `npm run test:long` only. Call it when everything has passed. */
export function recordEvidence(name: string, evidence: Evidence): void {
  if (process.env["HALYARD_EVIDENCE"] !== "1") return;
  mkdirSync(FOLDER, { recursive: true });
  const run = { date: new Date().toISOString().slice(0, 10), commit: currentCommit() };
  writeFileSync(fileURLToPath(new URL(`${name}.md`, FOLDER)), render(name, evidence, run));
}

/** Abbreviated, of the repository. */
export function currentCommit(): string {
  return execFileSync("git", ["rev-parse", "--short=7", "HEAD"], { cwd: FOLDER, encoding: "utf8" }).trim();
}

export interface EvidenceRun {
  readonly date: string;
  readonly commit: string;
}

export function render(name: string, evidence: Evidence, { date, commit }: EvidenceRun): string {
  const columns = Object.keys(evidence.figures);
  const rows = [...new Set(Object.values(evidence.figures).flatMap((figures) => Object.keys(figures)))];
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  const seed = evidence.seed === undefined ? "" : `HALYARD_SEED=${evidence.seed} `;
  return [
    `# ${sentence(name)}`,
    evidence.what,
    `**Size.** ${evidence.size}`,
    `**Verdict: passed.** ${evidence.checked}`,
    [
      line(["", ...columns]),
      line(["---", ...columns.map(() => "---:")]),
      ...rows.map((row) => line([row, ...columns.map((column) => evidence.figures[column]?.[row] ?? "")])),
    ].join("\n"),
    `Run on ${date} at commit ${commit}. Repeat it with \`${seed}npm run test:long -- ${evidence.suite}\`.`,
  ]
    .join("\n\n")
    .concat("\n");
}

function sentence(name: string): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
