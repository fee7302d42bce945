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

/** The first column is left-aligned, the others are right-aligned. */
export function toMarkdown([header = [], ...rows]: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const alignment = `|${header.map((_, column) => (column === 0 ? "---" : "--:")).join("|")}|`;
  return [line(header), alignment, ...rows.map(line)].join("\n");
}
