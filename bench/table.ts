/** Text tables: the first column is left-aligned, numbers are right-aligned. */

/** The first row is the header. */
export type Table = readonly (readonly string[])[];

export function formatTable(rows: Table): string {
  const widthOf = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const formatCell = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column));
  return rows.map((row) => row.map(formatCell).join("   ")).join("\n");
}

export function formatMarkdownTable([header = [], ...rows]: Table): string {
  const alignment = header.map((_, column) => (column === 0 ? "---" : "--:"));
  const formatRow = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [formatRow(header), `|${alignment.join("|")}|`, ...rows.map(formatRow)].join("\n");
}
