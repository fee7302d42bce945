/**
 * Finds names in the public API of a package without JSDoc, which editors show while a user types: exports of its entry
 * points, and members of exported interfaces and classes. Reads the text of the sources, which the formatter has laid
 * out: declarations start at column 0, members two spaces further in.
 */

import { posix } from "node:path";
import type { Tree } from "./names.ts";

interface Member {
  readonly name: string;
  readonly line: number;
  readonly hasDoc: boolean;
}

interface Declaration {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly isExported: boolean;
  readonly hasDoc: boolean;
  readonly members: readonly Member[];
  /** The names after `extends` and `implements`: a member that one of them documents needs no text of its own. */
  readonly parents: readonly string[];
}

/** What a file declares, and what it takes from other files. */
interface Source {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Imported and re-exported names: the file and the name there. */
  readonly imports: ReadonlyMap<string, Origin>;
  /** Exported names, which may be in `declarations`, in `imports`, or neither (a package's). */
  readonly exports: ReadonlyMap<string, Origin | undefined>;
  /** The files of `export * from` and `export type * from`. */
  readonly stars: readonly string[];
}

interface Origin {
  readonly file: string;
  readonly name: string;
}

const DECLARATION =
  /^(export )?(?:declare )?(?:abstract )?(?:async )?(interface|class|type|function|const) ([\w$]+)/;
/** A member of an interface or a class; `#private` ones do not match. */
const MEMBER =
  /^ {2}(?!private |protected |constructor|return |declare private |declare protected )((?:(?:readonly|static|get|set|async|override|declare) )*)([\w$]+|"[^"]+"|\[\w+: \w+\])[?!]? ?[(<:;=]/;
/** A member of an object type inside a member. A parameter ends with a comma. */
const NESTED = /^ {4,}(?:readonly )?([\w$]+)\??(?:\(.*\))?: .*;$/;
const LIST = /^(import|export)( type)? \{([^}]*)\} from "(\.[^"]+)";/gm;
const LOCAL_LIST = /^export( type)? \{([^}]*)\};/gm;
const STAR = /^export(?: type)? \* from "(\.[^"]+)";/gm;

/** Problems, one per name. `entries` are the files of the entry points. */
export function findUndocumented(tree: Tree, entries: readonly string[]): string[] {
  const sources = new Map<string, Source>();
  const sourceOf = (file: string): Source => {
    const source = sources.get(file) ?? readSource(file, tree.read(file));
    sources.set(file, source);
    return source;
  };
  const resolve = (file: string, name: string): Declaration | undefined => {
    const source = sourceOf(file);
    const origin = source.exports.get(name) ?? source.imports.get(name);
    if (origin !== undefined) return resolve(origin.file, origin.name);
    const own = source.declarations.get(name);
    if (own !== undefined) return own;
    for (const star of source.stars) {
      const found = sourceOf(star).exports.has(name) ? resolve(star, name) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const exportsOf = (file: string): string[] => {
    const { exports, stars } = sourceOf(file);
    return [...exports.keys(), ...stars.flatMap(exportsOf)];
  };
  const isInherited = (declaration: Declaration, name: string): boolean =>
    declaration.parents.some((parent) => {
      const found = resolve(declaration.file, parent);
      if (found === undefined) return false;
      const hasDoc = found.members.some((member) => member.name === name && member.hasDoc);
      return hasDoc || isInherited(found, name);
    });

  const problems = new Set<string>();
  const visited = new Set<Declaration>();
  const visit = (declaration: Declaration | undefined, isExported: boolean): void => {
    if (declaration === undefined) return;
    const { file, name, line, hasDoc, members, parents } = declaration;
    if (isExported && !hasDoc) problems.add(`${file}:${line}: \`${name}\` has no JSDoc.`);
    if (visited.has(declaration)) return;
    visited.add(declaration);
    for (const member of members) {
      if (member.hasDoc || isInherited(declaration, member.name)) continue;
      problems.add(`${file}:${member.line}: \`${name}.${member.name}\` has no JSDoc.`);
    }
    // Members of a parent are members of the exported type, also when the parent itself has no public name.
    for (const parent of parents) visit(resolve(file, parent), false);
  };
  for (const entry of entries) for (const name of exportsOf(entry)) visit(resolve(entry, name), true);
  return [...problems].sort();
}

function readSource(file: string, text: string): Source {
  const declarations = readDeclarations(file, text);
  const imports = new Map<string, Origin>();
  const exports = new Map<string, Origin | undefined>();
  for (const [, kind, , list = "", path = ""] of text.matchAll(LIST)) {
    for (const { name, alias } of readNames(list)) {
      const origin = { file: posix.join(posix.dirname(file), path), name };
      if (kind === "import") imports.set(alias, origin);
      else exports.set(alias, origin);
    }
  }
  for (const [, , list = ""] of text.matchAll(LOCAL_LIST)) {
    for (const { name, alias } of readNames(list)) exports.set(alias, imports.get(name));
  }
  for (const { name, isExported } of declarations.values()) if (isExported) exports.set(name, undefined);
  const stars = [...text.matchAll(STAR)].map(([, path = ""]) => posix.join(posix.dirname(file), path));
  return { declarations, imports, exports, stars };
}

function readNames(list: string): { name: string; alias: string }[] {
  return list
    .split(",")
    .map((part) => part.trim().replace(/^type /, ""))
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", alias = name] = part.split(" as ");
      return { name, alias };
    });
}

function readDeclarations(file: string, text: string): Map<string, Declaration> {
  const lines = text.split("\n");
  const declarations = new Map<string, Declaration>();
  for (let index = 0; index < lines.length; index++) {
    const [, exported, kind = "", name = ""] = DECLARATION.exec(lines[index] ?? "") ?? [];
    // Overloads and a type of the same name follow the first declaration, which has the text.
    if (name === "" || declarations.has(name)) continue;
    const end = findEnd(lines, index);
    // An alias has members only as an object type. A function type has parameters.
    const isObject = !/^\s+[A-Z]/.test(lines[index + 1] ?? "") && !/= [<(]$/.test(lines[index] ?? "");
    const isType = kind === "interface" || (kind === "type" && isObject);
    const body = isType || kind === "class" ? readMembers(lines, index, end, isType) : [];
    declarations.set(name, {
      file,
      name,
      line: index + 1,
      isExported: exported !== undefined,
      hasDoc: hasDoc(lines, index),
      members: body,
      parents: isType || kind === "class" ? readParents(lines.slice(index, end)) : [],
    });
  }
  return declarations;
}

/** The index of the line after the declaration, or of its closing bracket. */
function findEnd(lines: readonly string[], start: number): number {
  if (/;$/.test(lines[start] ?? "")) return start;
  let end = start + 1;
  while (end < lines.length && !/^[^\s)>]/.test(lines[end] ?? "")) end++;
  return end;
}

function readMembers(lines: readonly string[], start: number, end: number, isType: boolean): Member[] {
  const members: Member[] = [];
  let last = "";
  for (let index = start + 1; index < end; index++) {
    const line = lines[index] ?? "";
    // A parameter of a function type.
    if (line.endsWith(",")) continue;
    const name = MEMBER.exec(line)?.[2] ?? (isType ? NESTED.exec(line)?.[1] : undefined);
    if (name === undefined) continue;
    // The first overload has the text.
    if (name !== last) members.push({ name, line: index + 1, hasDoc: hasDoc(lines, index) });
    last = name;
  }
  return members;
}

function readParents(lines: readonly string[]): string[] {
  const opening = lines.findIndex((line) => line.endsWith("{"));
  let head = lines.slice(0, opening + 1).join(" ");
  // Type arguments hold other names, and other `extends`.
  for (let before = ""; before !== head; ) {
    before = head;
    head = head.replaceAll(/<[^<>]*>/g, "");
  }
  const clauses = head.matchAll(/\b(?:extends|implements) (.*?)(?= implements |\{|$)/g);
  return [...clauses].flatMap(([, list = ""]) => list.match(/[A-Z]\w*/g) ?? []);
}

function hasDoc(lines: readonly string[], index: number): boolean {
  let line = index - 1;
  if (!(lines[line] ?? "").trimEnd().endsWith("*/")) return false;
  while (line >= 0 && !(lines[line] ?? "").includes("/*")) line--;
  return /^\s*\/\*\*/.test(lines[line] ?? "");
}
