/** Numbers and tables as the pages show them. */

/** The first row is the header. */
export type Table = readonly (readonly string[])[];

/** Three significant digits, with separators. */
export function figure(value: number): string {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 4) });
}

export function whole(value: number): string {
  return Math.ceil(value).toLocaleString("en");
}

export function percent(share: number): string {
  return `${figure(100 * share)} %`;
}

/** The command that prints the figures of these measurements. */
export function benchCommand(measurements: string): string {
  return `\`npm run bench -- ${measurements}\``;
}

/** A column of figures is right-aligned, one with text is not. */
export function toMarkdown([header = [], ...rows]: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const isFigures = (column: number): boolean => rows.every((row) => /^[\d–]|^$/.test(row[column] ?? ""));
  const alignment = `|${header.map((_, column) => (column > 0 && isFigures(column) ? "--:" : "---")).join("|")}|`;
  return [line(header), alignment, ...rows.map(line)].join("\n");
}
