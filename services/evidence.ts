// What a long suite found out, written down for readers who will not run it themselves.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Evidence {
  /** What was run, in a sentence or two. */
  readonly what: string;
  /** At which size. */
  readonly size: string;
  /** What the checker read, and what it would have failed on. */
  readonly checked: string;
  /** The suite's file, from the repository's root: how to repeat the run. */
  readonly suite: string;
  readonly seed?: number;
  /** By column, such as a runtime, then by name. All columns have the same names. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

const FOLDER = new URL("../docs/evidence/", import.meta.url);

/** Writes `docs/evidence/<name>.md`, under `npm run test:long` only. To be called when everything has passed. */
export function recordEvidence(name: string, evidence: Evidence): void {
  if (process.env["HALYARD_EVIDENCE"] !== "1") return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileURLToPath(new URL(`${name}.md`, FOLDER)), render(name, evidence));
}

/** No date and no machine: the text changes only when a result does. */
export function render(name: string, evidence: Evidence): string {
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
    `Repeat it with \`${seed}npm run test:long -- ${evidence.suite}\`.`,
  ]
    .join("\n\n")
    .concat("\n");
}

function sentence(name: string): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
