/** Checks that comments, messages, test titles and pages use plain technical English: one standard word per concept. */

import { listProse } from "./markdown.ts";
import { findPassages, type Passage } from "./source-text.ts";

interface Word {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly use: string;
}

/** Words that hide who acts or what happens. Add only patterns without false alarms. */
const WORDS: readonly Word[] = [
  { pattern: /\bnobody\b/gi, use: "name the actor: no client, no process, no caller, an anonymous visitor" },
  { pattern: /\bsomebody\b/gi, use: "name the actor: another user, another process, a caller" },
  { pattern: /\bwhoever\b/gi, use: "name the actor: the caller, a user who, a process that" },
  { pattern: /\banew\b/gi, use: "again" },
  { pattern: /\bthereof\b/gi, use: "of it" },
  { pattern: /\bhitherto\b/gi, use: "until now, so far" },
  { pattern: /\blest\b/gi, use: "so that … not" },
  { pattern: /\bso many\b(?=[^.;:]*\bthat\b)/gi, use: "the number, or: too many" },
  { pattern: /\b(?<!in )a word\b(?! (?:boundary|character))/gi, use: "a message, a notice, a name" },
  { pattern: /\bwere it\b/gi, use: "even if it is" },
  { pattern: /\bhow-manieth\b/gi, use: "the number of, the index" },
  { pattern: /\bthat there (?:is|are) not\b|\bthere (?:is|are) not(?=[.,;:)]|$)/gi, use: "does not exist" },
  { pattern: /(?<!\bthere )\bis none\b/gi, use: "is not a …, is invalid, does not exist" },
  { pattern: /\bas soon as may be\b/gi, use: "as soon as possible, immediately" },
  { pattern: /\bby as much\b/gi, use: "the amount, with its unit" },
  { pattern: /\bof ours\b/gi, use: "this application's, this package's, our own …" },
  { pattern: /\bcoming back\b/gi, use: "reconnection, the return value, recovery" },
  { pattern: /\bgreet(?:s|ed)?\b/g, use: "announce, connect, handshake" },
  { pattern: /\bhears\b|\bhear of\b|\bheard of\b/gi, use: "receives, is notified of" },
  { pattern: /\baskers?\b/gi, use: "caller" },
  { pattern: /\bhouses?\b/gi, use: "process, organization, repository" },
  { pattern: /\bgiv(?:es?|ing) up its place\b/gi, use: "releases, leaves, closes" },
  { pattern: /\bthe saying\b/gi, use: "the message, publishing" },
];

const SOURCE = /^(?:packages|tools|services|bench|examples)\/.+\.tsx?$/;
const PAGE = /^(?:README|ARCHITECTURE|CONTRIBUTING)\.md$|^packages\/(?!.*CHANGELOG).+\.md$/;
/** The table above and the texts that test it. */
const EXEMPT: ReadonlySet<string> = new Set(["tools/words.ts", "tools/words.test.ts"]);

/** Whether the check reads this file. */
export function isChecked(file: string): boolean {
  return (SOURCE.test(file) || PAGE.test(file)) && !EXEMPT.has(file);
}

/** Every use of a word that has a better one, as `file:line: "word": use …`. */
export function findWords(file: string, text: string): string[] {
  const passages = file.endsWith(".md") ? findPageProse(text) : findPassages(file, text);
  return passages.flatMap((passage) => findInPassage(file, passage));
}

function findInPassage(file: string, { text, line }: Passage): string[] {
  // A phrase may continue on the next line, so the search takes line ends for spaces.
  const flat = text.replaceAll("\n", " ");
  return WORDS.flatMap(({ pattern, use }) =>
    Array.from(flat.matchAll(pattern), (match) => {
      const lineOfMatch = line + text.slice(0, match.index).split("\n").length - 1;
      return `${file}:${lineOfMatch}: "${match[0]}": use ${use}.`;
    }),
  );
}

function findPageProse(text: string): Passage[] {
  return listProse(text).map(({ text: content, line }) => ({
    text: content.replaceAll(/`[^`]*`/g, "code"),
    line,
  }));
}
