/** Reads a page as a newcomer does: the files to write, the commands to run and what they print, in order. */

import { type Fence, findFences, listProse } from "../markdown.ts";

/** A page with files for PostgreSQL is followed once on each. */
export type Database = "sqlite" | "postgres";

export type CommandMode = "foreground" | "background" | "fails" | "manual";

interface At {
  /** Line of the page, from 1. */
  readonly line: number;
}

export interface FileStep extends At {
  readonly kind: "file";
  readonly path: string;
  readonly text: string;
}

export interface CommandStep extends At {
  readonly kind: "commands";
  readonly mode: CommandMode;
  readonly commands: readonly string[];
  /** Lines that the commands print. */
  readonly output: readonly string[];
}

export interface BrowserStep extends At {
  readonly kind: "browser";
  readonly url: string;
  /** Where the lines are: in the log of the page, or visible on it. */
  readonly place: "console" | "text";
  readonly lines: readonly string[];
}

/** Ctrl+C for every command in the background. */
export interface StopStep extends At {
  readonly kind: "stop";
}

export type PageStep = FileStep | CommandStep | BrowserStep | StopStep;

/** One way through a page, from an empty folder or from the folder that another page leaves behind. */
export interface Walk {
  readonly page: string;
  /** The page, and the database or section where there are several. */
  readonly name: string;
  readonly continues: string | undefined;
  readonly steps: readonly PageStep[];
}

export interface Reading {
  readonly walks: readonly Walk[];
  readonly problems: readonly string[];
}

const FOLLOWED =
  /^docs\/guide\/(?:[\w-]*getting-started|[\w-]*quick-start|(?:flags-)?recipe-[\w-]+|[\w-]*mounting[\w-]*)\.md$|^README\.md$|^packages\/[^/]+\/README\.md$/;
const MARK = /^<!-- followed -->$/m;
const STOP = /<!-- stop -->/;
const CONTINUES = /^<!-- continues: (?<page>[\w-]+\.md) -->$/m;
const SECTIONS = /mounting[\w-]*\.md$/;
const POSTGRES_NAME = /\.postgres(?=\.|$)/;
const MODES: ReadonlySet<string> = new Set(["background", "fails", "manual"] satisfies CommandMode[]);
const DATABASES: ReadonlySet<string> = new Set(["sqlite", "postgres"] satisfies Database[]);

/** Whether the page is followed: by its name, or because it is marked. */
export function isFollowed(page: string, text: string): boolean {
  return FOLLOWED.test(page) || MARK.test(text);
}

/** The walks through a page, and where the page does not keep to the convention. */
export function readPage(page: string, text: string): Reading {
  const { parts, problems } = readParts(page, text);
  const continues = CONTINUES.exec(text)?.groups?.["page"];
  const databases: readonly (Database | undefined)[] = parts.some(({ database }) => database === "postgres")
    ? ["sqlite", "postgres"]
    : [undefined];
  const walks = databases.flatMap((database) => {
    const chosen = parts.filter((part) => part.database === undefined || part.database === database);
    const replaced = database === "postgres" ? dropReplaced(chosen) : chosen;
    return listSections(page, replaced).map(({ section, steps }) => ({
      page,
      name: [page, section, database === undefined ? undefined : DATABASE_TITLES[database]]
        .filter((word) => word !== undefined)
        .join(", "),
      continues: continues === undefined ? undefined : `docs/guide/${continues}`,
      steps,
    }));
  });
  return { walks: walks.filter(({ steps }) => steps.some(({ kind }) => kind === "commands")), problems };
}

const DATABASE_TITLES: Readonly<Record<Database, string>> = { sqlite: "SQLite", postgres: "PostgreSQL" };

interface PagePart {
  readonly step: PageStep;
  /** Set where the step is for one database only. */
  readonly database: Database | undefined;
  /** The `##` heading above it. */
  readonly section: string | undefined;
}

/** On PostgreSQL a file for PostgreSQL replaces the one of the same name. */
function dropReplaced(parts: readonly PagePart[]): PagePart[] {
  const replaced = new Set(
    parts.flatMap(({ step, database }) =>
      step.kind === "file" && database === "postgres" ? [step.path] : [],
    ),
  );
  return parts.filter(
    ({ step, database }) => step.kind !== "file" || database === "postgres" || !replaced.has(step.path),
  );
}

/** A page about several frameworks has a walk for each section; other pages have one. */
function listSections(
  page: string,
  parts: readonly PagePart[],
): { section: string | undefined; steps: PageStep[] }[] {
  const stepsOf = (chosen: readonly PagePart[]): PageStep[] => chosen.map(({ step }) => step);
  if (!SECTIONS.test(page)) return [{ section: undefined, steps: stepsOf(parts) }];
  const before = parts.filter(({ section }) => section === undefined);
  const sections = new Set(
    parts.flatMap(({ section, step }) =>
      section === undefined || step.kind !== "commands" ? [] : [section],
    ),
  );
  return [...sections].map((section) => ({
    section,
    steps: stepsOf([...before, ...parts.filter((part) => part.section === section)]),
  }));
}

function readParts(page: string, text: string): { parts: PagePart[]; problems: string[] } {
  const problems: string[] = [];
  const parts: PagePart[] = [];
  const headings = listProse(text).filter(({ text: content }) => /^## /.test(content));
  const sectionOf = (line: number): string | undefined =>
    headings.findLast((heading) => heading.line < line)?.text.slice("## ".length);
  const fences = findFences(text);
  for (const [index, fence] of fences.entries()) {
    const next = fences[index + 1];
    const output = next?.language === "output" && isNext(text, fence, next) ? next.lines : undefined;
    const previous = fences[index - 1];
    const isAfterCommands =
      previous?.language === "sh" && isNext(text, previous, fence) && !hasWord(previous, "manual");
    const read = readFence(fence, output, isAfterCommands);
    if (typeof read === "string") problems.push(`${page}:${fence.line - 1}: ${read}`);
    else if (read !== undefined) parts.push({ ...read, section: sectionOf(fence.line) });
  }
  for (const { text: content, line } of listProse(text)) {
    if (STOP.test(content))
      parts.push({ step: { kind: "stop", line }, database: undefined, section: sectionOf(line) });
  }
  return { parts: parts.sort((one, other) => one.step.line - other.step.line), problems };
}

/** Whether only blank lines are between the two blocks. */
function isNext(text: string, first: Fence, second: Fence): boolean {
  const lines = text.split(/\r?\n/);
  return lines
    .slice(first.line + first.lines.length, second.line - 2)
    .every((content) => content.trim() === "");
}

function hasWord({ info }: Fence, word: string): boolean {
  return info.split(/\s+/).includes(word);
}

/** The step of a block, `undefined` for a block that is only to be read, or what is wrong with it. */
function readFence(
  fence: Fence,
  output: readonly string[] | undefined,
  isAfterCommands: boolean,
): Omit<PagePart, "section"> | string | undefined {
  const { language, info, line, lines } = fence;
  if (language === "sh") return readCommands(fence, output);
  if (language === "output") {
    return isAfterCommands ? undefined : "an output block must follow the sh block whose output it shows.";
  }
  if ((language === "console" || language === "text") && info !== "") {
    if (!/^https?:\/\/\S+$/.test(info)) return `"${info}" is not an address to open.`;
    return { step: { kind: "browser", line, url: info, place: language, lines }, database: undefined };
  }
  const path = /(?:^|\s)file=(\S+)/.exec(info)?.[1];
  if (path === undefined) return undefined;
  if (path.startsWith("/") || path.split("/").includes("..")) return `${path} is outside of the folder.`;
  return {
    step: { kind: "file", line, path: path.replace(POSTGRES_NAME, ""), text: `${lines.join("\n")}\n` },
    database: POSTGRES_NAME.test(path) ? "postgres" : undefined,
  };
}

function readCommands(
  { info, line, lines }: Fence,
  output: readonly string[] | undefined,
): Omit<PagePart, "section"> | string {
  const words = info.split(/\s+/).filter((word) => word !== "");
  const unknown = words.find((word) => !MODES.has(word) && !DATABASES.has(word));
  if (unknown !== undefined) {
    return `"${unknown}" means nothing after \`\`\`sh. Use ${[...MODES, ...DATABASES].join(", ")}.`;
  }
  const mode = (words.find((word) => MODES.has(word)) ?? "foreground") as CommandMode;
  const database = words.find((word) => DATABASES.has(word)) as Database | undefined;
  if (mode === "background" && output === undefined) {
    return "an output block must follow a command in the background, to show when it is ready.";
  }
  const commands = listCommands(lines);
  const variable = commands.find((command) => /^export\s/.test(command));
  if (variable !== undefined) {
    return `"${variable}" holds in one terminal only. Use a .env file or set it before the command.`;
  }
  return { step: { kind: "commands", line, mode, commands, output: output ?? [] }, database };
}

function listCommands(lines: readonly string[]): string[] {
  return lines
    .join("\n")
    .replaceAll(/\s*\\\n\s*/g, " ")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)#(?:\s.*)?$/, "").trim())
    .filter((line) => line !== "");
}
