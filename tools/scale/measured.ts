/** Measured figures, read from what the benchmarks and the load suites wrote. */

import { read } from "../repository.ts";

interface Outcome {
  readonly name: string;
  readonly table: readonly (readonly string[])[];
  readonly doubts: readonly string[];
}

/** One figure of `docs/performance.md`: the measurement, the row and the column of its table. */
export function performance(measurement: string, row: string, column: string): number {
  const outcomes: readonly Outcome[] = JSON.parse(read("docs/performance/outcomes.json"));
  const table = outcomes.find(({ name }) => name === measurement)?.table;
  if (table === undefined)
    throw new Error(
      `docs/performance has no measurement "${measurement}". Run \`npm run bench -- ${measurement} --report\`.`,
    );
  return cellOf(table, row, column, `the measurement "${measurement}"`);
}

/** Whether the measurement has this row. */
export function hasRow(measurement: string, row: string): boolean {
  const outcomes: readonly Outcome[] = JSON.parse(read("docs/performance/outcomes.json"));
  return outcomes.some(({ name, table }) => name === measurement && table.some(([first]) => first === row));
}

/** Whether the last run of the measurement names a reason to distrust its figures. */
export function isDoubtful(measurement: string): boolean {
  const outcomes: readonly Outcome[] = JSON.parse(read("docs/performance/outcomes.json"));
  return outcomes.some(({ name, doubts }) => name === measurement && doubts.length > 0);
}

/** One figure of a page of `docs/evidence`, or of another page: the row and the column of its first table with them. */
export function page(path: string, row: string, column: string): number {
  for (const table of tablesOf(read(path)))
    if (table.some(([first]) => first === row) && table[0]?.includes(column))
      return cellOf(table, row, column, path);
  throw new Error(`${path} has no table with the row "${row}" and the column "${column}".`);
}

function tablesOf(text: string): string[][][] {
  const tables: string[][][] = [];
  let open: string[][] | undefined;
  for (const line of text.split("\n")) {
    if (!line.startsWith("|")) {
      open = undefined;
      continue;
    }
    const cells = line.split("|").slice(1, -1);
    const row = cells.map((cell) => cell.trim());
    if (row.every((cell) => /^:?-+:?$/.test(cell))) continue;
    if (open === undefined) {
      open = [];
      tables.push(open);
    }
    open.push(row);
  }
  return tables;
}

function cellOf(table: readonly (readonly string[])[], row: string, column: string, where: string): number {
  const at = table[0]?.indexOf(column) ?? -1;
  const text = table.find(([first]) => first === row)?.[at];
  const value = text === undefined ? Number.NaN : Number.parseFloat(text.replaceAll(",", ""));
  if (Number.isNaN(value))
    throw new Error(`There is no figure in row "${row}", column "${column}" of ${where}.`);
  return value;
}
