/** Compares what a program printed with what the page shows. */

import { stripVTControlCharacters } from "node:util";

/**
 * The first expected line that is missing, or `undefined`. The lines must appear in this order, others may stand
 * between them, and `…` in a line stands for any text.
 */
export function findMissingLine(expected: readonly string[], printed: string): string | undefined {
  const lines = stripVTControlCharacters(printed).split(/\r?\n/);
  let from = 0;
  for (const line of expected) {
    if (/^[\s…]*$/.test(line)) continue;
    const pattern = toPattern(line);
    const found = lines.findIndex((content, index) => index >= from && pattern.test(content.trim()));
    if (found === -1) return line;
    from = found + 1;
  }
  return undefined;
}

function toPattern(line: string): RegExp {
  const text = line
    .trim()
    .split("…")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${text}$`);
}
