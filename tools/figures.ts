/** Writes computed tables into pages, and finds pages whose tables are out of date. */

import { type Table, toMarkdown } from "./scale/format.ts";

const BLOCK = /<!-- figures: (?<name>[\w-]+) -->\n(?<body>[\s\S]*?)<!-- \/figures -->/g;

type Tables = ReadonlyMap<string, () => Table>;

export function hasFigures(text: string): boolean {
  return /^<!-- figures: /m.test(text);
}

/** The page with its tables as they are computed now. */
export function renderFigures(file: string, text: string, tables: Tables): string {
  return text.replaceAll(BLOCK, (_, name: string) => {
    const table = tables.get(name);
    if (table === undefined)
      throw new Error(`${file} shows the figures "${name}", which tools/scale/tables.ts does not have.`);
    return `<!-- figures: ${name} -->\n${toMarkdown(table())}\n<!-- /figures -->`;
  });
}

/** One line for each page whose tables differ. */
export function findStaleFigures(file: string, text: string, tables: Tables): string[] {
  if (renderFigures(file, text, tables) === text) return [];
  return [`${file}: the tables are not those of the last measurements. Run \`npm run docs:figures\`.`];
}
