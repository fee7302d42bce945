/** Checks that pages can be read once and understood: short sentences, few in the passive voice, no vague words. */

import { countWords, listSentences, type Sentence } from "./sentences.ts";
import { findWords } from "./words.ts";

const MAX_WORDS = 30;
/** Share of a page's sentences. */
const MAX_PASSIVE = 1 / 5;
/** A page with fewer sentences may have this many in the passive voice. */
const MIN_PASSIVE = 3;

const PAGES =
  /^(?:README\.md|packages\/[^/]+\/README\.md|docs\/README\.md|docs\/protocol\.md|docs\/guide\/[^/]+\.md)$/;

/** Whether the check reads this page. */
export function isReadable(file: string): boolean {
  return PAGES.test(file);
}

interface Word {
  readonly pattern: RegExp;
  readonly use: string;
}

/** Words that pages avoid besides those of `words.ts`. Add only patterns without false alarms. */
const WORDS: readonly Word[] = [
  { pattern: /\b(?:simply|easily|obviously|of course)\b/gi, use: "nothing: leave it out" },
  { pattern: /(?<!-)\bjust\b(?!-)/gi, use: "only, or leave it out" },
  { pattern: /\b(?:anybody|anyone|everybody)\b/gi, use: "name the actor: any user, every caller" },
  { pattern: /\bmeanwhile\b/gi, use: "during this time, or leave it out" },
  { pattern: /\b(?:goes|go|going|went) on\b(?! to\b)/gi, use: "continues" },
  {
    pattern: /\b(?:is|are) asking\b|\b(?:is|are|be) asked\b|\basks for\b/gi,
    use: "requests, evaluates, the caller",
  },
  { pattern: /\bcomes? back\b/gi, use: "reconnects, returns, recovers" },
  {
    pattern:
      /\b(?:server|client|plugin|log|error|message|process|response|router|library|option|database|broker)s? (?:says?|said|hears?|tells?|forgets?)\b/gi,
    use: "returns, reports, logs, receives, discards",
  },
];

/** Participles that do not end in "ed". */
const IRREGULAR =
  "begun|bound|broken|brought|built|caught|chosen|cut|done|drawn|driven|found|given|held|hidden|kept|known|left|lost|made|meant|met|paid|put|read|run|said|seen|sent|set|shown|shut|spent|split|stopped|sworn|taken|taught|thrown|told|thought|understood|won|written";
/** States rather than actions, and words that only look like participles. */
const STATES =
  "allowed|based|closed|connected|disabled|disconnected|enabled|expired|installed|limited|named|need|related|required|signed|supported|typed|unchanged|unlimited|unused";
const PASSIVE = new RegExp(
  `\\b(?:is|are|was|were|be|been|being)\\s+(?:(?:not|never|always|also|only|then|still|already|first|\\w+ly)\\s+)*(?!(?:${STATES})\\b)(?:\\w+ed|${IRREGULAR})\\b`,
  "i",
);

export interface Finding {
  readonly line: number;
  readonly problem: string;
}

/** What makes the page hard to read. */
export function findHardText(file: string, page: string): string[] {
  const sentences = listSentences(page);
  const findings = [
    ...sentences.flatMap(findLength),
    ...sentences.flatMap(findVagueWords),
    ...findPassiveShare(sentences),
  ];
  return [...findings.map(({ line, problem }) => `${file}:${line}: ${problem}`), ...findWords(file, page)];
}

function findLength({ text, line }: Sentence): Finding[] {
  const words = countWords(text);
  if (words <= MAX_WORDS) return [];
  return [{ line, problem: `${words} words in a sentence, ${MAX_WORDS} are the limit: "${shorten(text)}"` }];
}

function findVagueWords({ text, line }: Sentence): Finding[] {
  const words = WORDS.flatMap(({ pattern, use }) =>
    Array.from(text.matchAll(pattern), ([word]) => ({ line, problem: `"${word}": use ${use}.` })),
  );
  const isShout = text.endsWith("!");
  return isShout ? [...words, { line, problem: `no exclamation marks: "${shorten(text)}"` }] : words;
}

function findPassiveShare(sentences: readonly Sentence[]): Finding[] {
  const prose = sentences.filter(({ isCell }) => !isCell);
  const passive = prose.filter(isPassive);
  const limit = Math.max(MIN_PASSIVE, Math.floor(prose.length * MAX_PASSIVE));
  if (passive.length <= limit) return [];
  return passive.map(({ text, line }) => ({
    line,
    problem: `passive voice, as in ${passive.length} of ${prose.length} sentences, ${limit} are the limit: "${shorten(text)}"`,
  }));
}

function isPassive({ text }: Sentence): boolean {
  return PASSIVE.test(text);
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** How hard a sentence is to read: its words, and what else a reader must keep in mind. Comparable, without a unit. */
export function rateSentence(sentence: Sentence): number {
  const { text } = sentence;
  const clauses = text.match(/[;:,(–—]/g)?.length ?? 0;
  const vague = findVagueWords(sentence).length + findWords("README.md", text).length;
  return countWords(text) + 3 * clauses + 10 * vague + (isPassive(sentence) ? 6 : 0);
}
