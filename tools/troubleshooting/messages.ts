/** Finds the texts in the source that users read: log lines, thrown errors, and the messages of error codes. */

import { scan, type Token } from "../source-text.ts";

export interface Message {
  readonly file: string;
  readonly line: number;
  /** With `…` for every value. */
  readonly text: string;
  readonly kind: "log" | "thrown" | "coded" | "other";
  /** The error code, if the kind is "coded". */
  readonly code?: string;
}

const PREFIX = /^\[(?:halyard|feature-flags)\]\s*/;
const LOG =
  /(?:^|\.)(?:warn|warnOnce|warnInDevelopment|warnIfUnset|refused|reportOnce|logHeartbeatIsOff)$|^console\.\w+$|^logger\.\w+$/;
/** `mistake` makes the start-up errors of one option. */
const THROWN = /^new \w*Error$|^mistake$/;
/** Functions that make an error of the validation. */
const VALIDATION = /^(?:invalid|conflict|overLimit)$/;
/** The table of the client's texts, all of which it can log. */
const TABLES: ReadonlySet<string> = new Set(["packages/wire/src/client/texts.ts"]);
/** Fewer words are a part of another message, except in a log line. */
const MIN_WORDS = 4;

/** The messages of a source file, in order. `codes` are the error codes of its package. */
export function listMessages(file: string, source: string, codes: ReadonlySet<string>): Message[] {
  const strings = scan(source).filter(({ kind }) => kind === "string");
  return strings.flatMap((token, index) => {
    const text = clean(token.text);
    // The values of a template may contain strings too, one level deeper.
    const previous = strings.slice(0, index).findLast(({ depth }) => depth <= token.depth);
    const code =
      isArgumentAfter(previous, token) && codes.has(previous?.text ?? "") ? previous?.text : undefined;
    const validation = VALIDATION.test(token.callee ?? "") ? "VALIDATION_ERROR" : undefined;
    const kind = kindOf(file, token, code ?? validation);
    if (kind === "log" ? !/\s/.test(text) || countWords(text) === 0 : countWords(text) < MIN_WORDS) return [];
    const found = { file, line: token.line, text, kind };
    return kind === "coded" ? [{ ...found, code: code ?? validation ?? "" }] : [found];
  });
}

function kindOf(file: string, { text, callee = "" }: Token, code: string | undefined): Message["kind"] {
  if (PREFIX.test(text) || LOG.test(callee) || TABLES.has(file)) return "log";
  if (code !== undefined) return "coded";
  return THROWN.test(callee) && /^\S*[A-Z(…]/.test(text) && text.endsWith(".") ? "thrown" : "other";
}

function isArgumentAfter(previous: Token | undefined, token: Token): boolean {
  return previous !== undefined && previous.depth === token.depth && previous.callee === token.callee;
}

function clean(text: string): string {
  return text.replace(PREFIX, "").replaceAll("\\n", " ").replaceAll(/\\(.)/g, "$1").trim();
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length;
}
