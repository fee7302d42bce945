/** Reads the parts of Markdown that the checks need: fenced blocks, prose, inline code, links and headings. */

export interface Fence {
  readonly language: string;
  /** What follows the language on the opening line. */
  readonly info: string;
  readonly lines: readonly string[];
  /** Line of the file on which the first line of the body stands, from 1. */
  readonly line: number;
  /** Columns taken off the front of each body line. */
  readonly indent: number;
}

export interface Place {
  readonly text: string;
  readonly line: number;
}

const OPENING = /^(?<indent>\s*)(?<ticks>`{3,}|~{3,})\s*(?<language>[^\s`]*)\s*(?<info>[^`]*)$/;

/** A line above a block with the name of its file. */
export const CAPTION: RegExp = /^\*\*\S+(?: on PostgreSQL)?\*\*$/;

/** The line above a block that shows the name of its file; undefined: the block is no file. */
export function captionOf({ info }: Pick<Fence, "info">): string | undefined {
  const file = /(?:^|\s)file=(\S+)/.exec(info)?.[1];
  // The variant of a file for another database.
  return file && `**${file.replace(/^(.+)\.postgres(\.\w+)$/, "$1$2 on PostgreSQL")}**`;
}

export function findFences(text: string): Fence[] {
  return scan(text).fences;
}

/** The lines outside fenced blocks. */
export function listProse(text: string): Place[] {
  return scan(text).prose;
}

/** `code` spans outside fenced blocks. */
export function findInlineCode(text: string): Place[] {
  return findInProse(text, /(?<!`)`([^`]+)`(?!`)/g);
}

/** Targets of `[text](target)`, `![alt](target)`, `[label]: target` and `href="target"`, outside code. */
export function findLinks(text: string): Place[] {
  const prose = text.replaceAll(/(?<!`)`[^`\n]+`(?!`)/g, (code) => " ".repeat(code.length));
  return [
    ...findInProse(prose, /\]\(\s*<?([^()\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
    ...findInProse(prose, /^\s*\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)/g),
    ...findInProse(prose, /(?:href|src)="([^"]+)"/g),
  ];
}

/** The headings as they are written, without their number signs. */
export function findHeadings(text: string): Place[] {
  return findInProse(text, /^#{1,6}\s+(.+?)\s*#*$/g);
}

/** The anchor that GitHub gives a heading with this text. */
export function slugify(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** The `#anchor`s that GitHub gives a page's headings, and explicit ids. */
export function findAnchors(text: string): Set<string> {
  const anchors = new Set<string>();
  const seen = new Map<string, number>();
  for (const { text: heading } of findHeadings(text)) {
    const slug = slugify(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  for (const { text: id } of findInProse(text, /\b(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

function findInProse(text: string, pattern: RegExp): Place[] {
  return listProse(text).flatMap(({ text: content, line }) =>
    Array.from(content.matchAll(pattern), (match) => ({ text: match[1] ?? "", line })),
  );
}

function scan(text: string): { fences: Fence[]; prose: Place[] } {
  const fences: Fence[] = [];
  const prose: Place[] = [];
  let open: (Omit<Fence, "lines"> & { ticks: string; lines: string[] }) | undefined;
  for (const [index, content] of text.split(/\r?\n/).entries()) {
    if (open === undefined) {
      const groups = OPENING.exec(content)?.groups;
      if (groups === undefined) {
        prose.push({ text: content, line: index + 1 });
        continue;
      }
      const { indent = "", ticks = "", language = "", info = "" } = groups;
      open = { ticks, language, info: info.trim(), lines: [], line: index + 2, indent: indent.length };
    } else if (content.trim().startsWith(open.ticks) && /^[`~]+$/.test(content.trim())) {
      const { ticks: _, ...fence } = open;
      fences.push(fence);
      open = undefined;
    } else {
      const spaces = content.length - content.trimStart().length;
      open.lines.push(content.slice(Math.min(open.indent, spaces)));
    }
  }
  if (open !== undefined) {
    const { ticks: _, ...fence } = open;
    fences.push(fence);
  }
  return { fences, prose };
}
