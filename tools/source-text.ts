/** Finds what a person reads in a TypeScript file: comments, messages and test titles, each with its line. */

export interface Passage {
  /** The words without comment signs and without code. */
  readonly text: string;
  /** Where the passage starts, from 1. */
  readonly line: number;
}

/** A comment or a string of a file. */
export interface Token extends Passage {
  readonly kind: "line comment" | "block comment" | "string";
  /** Set for the title of a top-level or nested test: its call, such as `describe` or `test.for()`. */
  readonly titleOf?: string;
  /** Set for the value of an object's field: the field's name. */
  readonly field?: string;
  /** Set inside the arguments of `new …Error()` and `console.…()`. */
  readonly isMessage?: true;
  /** Set for an argument: what is called, such as `new Error` or `console.warn`. */
  readonly callee?: string;
  /** How many brackets are open around it. */
  readonly depth: number;
}

/** The client's suite is a list of cases, each with its title in `name`, because it runs in browsers too. */
const CASES = /^packages\/wire\/test\/client\/suite\/[^/]+\.ts$/;

/** Comments, titles, messages, and strings of three words or more, which are data in a test file. */
export function findPassages(file: string, source: string): Passage[] {
  const isTest = /\.test\.tsx?$|(?:^|\/)test\//.test(file);
  const titleField = CASES.test(file) ? "name" : "title";
  const isRead = (token: Token): boolean =>
    token.kind !== "string" ||
    token.titleOf !== undefined ||
    token.field === titleField ||
    token.isMessage === true ||
    (!isTest && isProse(token.text));
  return joinLineComments(scan(source))
    .filter(isRead)
    .map((token) => ({ text: token.kind === "string" ? token.text : cleanComment(token), line: token.line }));
}

function isProse(text: string): boolean {
  return text.trim().split(/\s+/).length >= 3;
}

/** `//` comments on successive lines are one text: a phrase may continue on the next line. */
function joinLineComments(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  for (const token of tokens) {
    const last = joined.at(-1);
    const isNextLine =
      last?.kind === "line comment" && token.line === last.line + last.text.split("\n").length;
    if (isNextLine && token.kind === "line comment") {
      joined[joined.length - 1] = { ...last, text: `${last.text}\n${token.text}` };
    } else {
      joined.push(token);
    }
  }
  return joined;
}

/** Drops comment signs, examples and code, and keeps the number of lines. */
function cleanComment({ kind, text }: Token): string {
  const sign = kind === "line comment" ? /^\s*\/\/+ ?/ : /^\s*\/?\*+\/? ?/;
  return text
    .split("\n")
    .map((line) => line.replace(sign, "").replace(/\*\/$/, ""))
    .join("\n")
    .replaceAll(/```[\s\S]*?(?:```|$)/g, (code) => code.replaceAll(/[^\n]/g, ""))
    .replaceAll(/`[^`\n]*`/g, "code");
}

const PATTERNS = {
  lineComment: /\/\/[^\n]*/y,
  blockComment: /\/\*[\s\S]*?(?:\*\/|$)/y,
  string: /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/y,
  regex: /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y,
  templateText: /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y,
  space: /\s+/y,
  word: /[\w$]+/y,
} as const;

/** After this code a slash starts a regular expression; elsewhere it divides. */
const BEFORE_REGEX = /(?:^|[([{,;:=!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|await|yield) ?)$/;
const TITLED = /^(?:test|it|describe|suite)(?:\.\w+)*(?:\(\))?$/;
const TABLE = /\.(?:for|each)(?:\.\w+)*$/;
const MESSAGE = /^new (?:[\w$.]*\.)?\w*Error$|^console\.\w+$/;
const CALLEE = /(?:\bnew )?[\w$.]+$/;
const FIELD = /[{,](\w+):$/;

interface Bracket {
  readonly sign: string;
  /**
   * For a parenthesis: what is called, such as `test.for` or `new Error`, or `test.for()` for what `test.for(…)`
   * returned.
   */
  readonly callee: string;
}

type Role = Pick<Token, "titleOf" | "field" | "isMessage" | "callee">;

/** The comments and strings of a TypeScript file, in order. The text of a template has no values in it. */
export function scan(source: string): Token[] {
  const tokens: Token[] = [];
  const brackets: Bracket[] = [];
  const templates: { text: string; line: number; role: Role }[] = [];
  let index = 0;
  let line = 1;
  /** The last code before `index`, without spaces and with strings emptied. */
  let code = "";
  let closedCallee = "";

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = index;
    const text = pattern.exec(source)?.[0];
    if (text !== undefined) skip(text);
    return text;
  };
  const skip = (text: string): void => {
    index += text.length;
    line += text.split("\n").length - 1;
  };
  const findRole = (): Role => {
    const { sign, callee } = brackets.at(-1) ?? { sign: "", callee: "" };
    const isTitle = sign === "(" && code.endsWith("(") && TITLED.test(callee) && !TABLE.test(callee);
    const field = FIELD.exec(code)?.[1];
    return {
      ...(isTitle ? { titleOf: callee } : {}),
      ...(field === undefined ? {} : { field }),
      ...(sign === "(" && callee !== "" ? { callee } : {}),
      ...(brackets.some((bracket) => bracket.sign === "(" && MESSAGE.test(bracket.callee))
        ? { isMessage: true }
        : {}),
    };
  };
  const readTemplate = (): void => {
    const template = templates.at(-1);
    if (template === undefined) return;
    template.text += take(PATTERNS.templateText) ?? "";
    if (source.startsWith("${", index)) {
      template.text += "…";
      skip("${");
      brackets.push({ sign: "${", callee: "" });
      code = "";
    } else {
      skip("`");
      templates.pop();
      const { text, role } = template;
      tokens.push({ kind: "string", text, line: template.line, depth: brackets.length, ...role });
      code = '""';
    }
  };

  while (index < source.length) {
    const start = line;
    const sign = source.charAt(index);
    const depth = brackets.length;
    if (take(PATTERNS.space) !== undefined) {
      if (/\w$/.test(code)) code += " ";
    } else if (source.startsWith("//", index)) {
      tokens.push({ kind: "line comment", text: take(PATTERNS.lineComment) ?? "", line: start, depth });
    } else if (source.startsWith("/*", index)) {
      tokens.push({ kind: "block comment", text: take(PATTERNS.blockComment) ?? "", line: start, depth });
    } else if (sign === '"' || sign === "'") {
      const text = (take(PATTERNS.string) ?? "").slice(1, -1);
      tokens.push({ kind: "string", text, line: start, depth, ...findRole() });
      code = '""';
    } else if (sign === "`") {
      templates.push({ text: "", line: start, role: findRole() });
      skip(sign);
      readTemplate();
    } else if (sign === "/" && BEFORE_REGEX.test(code) && take(PATTERNS.regex) !== undefined) {
      code = '""';
    } else if (sign === "<" && TITLED.test(CALLEE.exec(code)?.[0] ?? "")) {
      skip(readTypeArguments(source, index) ?? sign);
    } else if ("([{".includes(sign)) {
      const callee = code.endsWith(")") ? `${closedCallee}()` : (CALLEE.exec(code)?.[0] ?? "");
      brackets.push({ sign, callee });
      skip(sign);
      code = sign;
    } else if (")]}".includes(sign)) {
      const opened = brackets.pop();
      skip(sign);
      closedCallee = opened?.callee ?? "";
      code = sign;
      if (opened?.sign === "${") readTemplate();
    } else {
      const text = take(PATTERNS.word) ?? sign;
      if (text === sign && !/[\w$]/.test(sign)) skip(sign);
      code = (code + text).slice(-80);
    }
  }
  return tokens;
}

/** The `<…>` at `start` if a call follows it. */
function readTypeArguments(source: string, start: number): string | undefined {
  let open = 0;
  // The arrow of a function type closes nothing.
  for (const { 0: sign, index } of source.slice(start).matchAll(/"[^"\n]*"|=>|[<>]/g)) {
    if (sign === "<") open += 1;
    if (sign === ">") open -= 1;
    if (open > 0) continue;
    const end = start + index + 1;
    return source.charAt(end) === "(" ? source.slice(start, end) : undefined;
  }
  return undefined;
}
