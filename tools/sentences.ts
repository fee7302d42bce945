/** Splits the prose of a Markdown page into sentences, each with its line. */

import { CAPTION, listProse, type Place } from "./markdown.ts";

export interface Sentence extends Place {
  /** A cell of a table, which need not be a whole sentence. */
  readonly isCell: boolean;
}

interface Paragraph {
  text: string;
  readonly line: number;
  readonly isCell: boolean;
}

/** The sentences of paragraphs, list items and table cells, without headings, code and comments. */
export function listSentences(page: string): Sentence[] {
  return listParagraphs(page).flatMap(({ text, line, isCell }) =>
    splitSentences(text).map((sentence) => ({ text: sentence, line, isCell })),
  );
}

/** Words of a sentence; code, or a link's text, counts as it is read. */
export function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;
const TABLE = /^\s*\|/;
const HEADING = /^#{1,6}\s/;
/** Capitalized, so that a sentence may start with it. */
const CODE = "Code";

function listParagraphs(page: string): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let open: Paragraph | undefined;
  let lastLine = 0;
  for (const { text: content, line } of listProse(hideComments(page))) {
    const text = readInline(content);
    // A fenced block between two lines ends the paragraph.
    const isNext = line === lastLine + 1;
    lastLine = line;
    if (text.trim() === "" || HEADING.test(content) || CAPTION.test(content)) {
      open = undefined;
    } else if (TABLE.test(content)) {
      open = undefined;
      if (/^[\s|:-]+$/.test(content)) continue;
      for (const cell of text
        .trim()
        .replaceAll(/^\||\|$/g, "")
        .split("|")) {
        if (cell.trim() !== "") paragraphs.push({ text: cell.trim(), line, isCell: true });
      }
    } else if (open === undefined || !isNext || ITEM.test(content)) {
      open = {
        text: text
          .replace(ITEM, "")
          .replace(/^\s*>\s?/, "")
          .trim(),
        line,
        isCell: false,
      };
      paragraphs.push(open);
    } else {
      open.text += ` ${text.trim()}`;
    }
  }
  return paragraphs;
}

/** Keeps the lines, so that places stay right. */
function hideComments(page: string): string {
  return page.replaceAll(/<!--[\s\S]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ""));
}

function readInline(line: string): string {
  return line
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replaceAll(/`[^`]+`/g, CODE)
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("\\|", "/")
    .replaceAll(/\*+|(?<!\w)_+|_+(?!\w)/g, "");
}

const ABBREVIATION = /\b(?:e\.g|i\.e|etc|vs|cf|approx)\.$/;

function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(/[.!?]["”’)]*\s+(?=["“‘(]?[\p{Lu}\p{N}])/gu)) {
    const sentence = text.slice(start, index + end.length).trim();
    if (ABBREVIATION.test(sentence)) continue;
    sentences.push(sentence);
    start = index + end.length;
  }
  sentences.push(text.slice(start).trim());
  return sentences.filter((sentence) => sentence !== "");
}
