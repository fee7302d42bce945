/** The part of a declaration that its users depend on: its text without comments, bodies, and private members. */

import { child, childrenOf, list, type Node, nameOf, type Syntax } from "./syntax.ts";

export interface Signature {
  readonly text: string;
  /** The names of types and values that it uses. */
  readonly uses: ReadonlySet<string>;
}

interface Cut {
  readonly start: number;
  readonly end: number;
  /** What stands there instead. */
  readonly by: string;
}

/** The signature of one declaration of a name. */
export function signatureOf(declaration: Node, { text, comments }: Syntax): Signature {
  const cuts: Cut[] = comments.map(({ start, end }) => ({ start, end, by: "" }));
  const uses = new Set<string>();
  const visit = (node: Node): void => {
    const own = cutsOf(node);
    cuts.push(...own);
    const used = usedName(node);
    if (used !== undefined) uses.add(used);
    for (const below of childrenOf(node)) {
      if (!own.some(({ start, end }) => below.start >= start && below.end <= end)) visit(below);
    }
  };
  visit(declaration);
  return { text: tidy(applyCuts(text, declaration, cuts)), uses };
}

/** Declarations without the implementation of an overloaded function, which callers do not see. */
export function withoutImplementation(declarations: readonly Node[]): readonly Node[] {
  if (!declarations.some(({ type }) => type === "TSDeclareFunction")) return declarations;
  return declarations.filter(({ type }) => type !== "FunctionDeclaration");
}

function cutsOf(node: Node): Cut[] {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
      return cutBody(node, ";");
    case "ArrowFunctionExpression":
      return cutBody(node, "…");
    case "VariableDeclarator":
      return cutInitializer(child(node, "id"), child(node, "init"));
    case "PropertyDefinition":
      return cutInitializer(child(node, "typeAnnotation"), child(node, "value"));
    case "ClassBody":
      return listHiddenMembers(node).map(({ start, end }) => ({ start, end, by: "" }));
    default:
      return [];
  }
}

function cutBody(node: Node, by: string): Cut[] {
  const body = child(node, "body");
  return body === undefined ? [] : [{ start: body.start, end: body.end, by }];
}

/** A declared type makes the value an implementation; without one, the value is the type. */
function cutInitializer(typed: Node | undefined, value: Node | undefined): Cut[] {
  if (typed === undefined || value === undefined) return [];
  const isTyped = typed.type === "TSTypeAnnotation" || child(typed, "typeAnnotation") !== undefined;
  return isTyped ? [{ start: typed.end, end: value.end, by: "" }] : [];
}

function listHiddenMembers(body: Node): Node[] {
  const members = list(body, "body");
  const isOverload = (member: Node): boolean =>
    child(member, "value")?.type === "TSEmptyBodyFunctionExpression";
  const overloaded = new Set(members.filter(isOverload).map((member) => nameOf(child(member, "key"))));
  return members.filter((member) => {
    const isPrivate =
      member["accessibility"] === "private" || child(member, "key")?.type === "PrivateIdentifier";
    const isImplementation = !isOverload(member) && overloaded.has(nameOf(child(member, "key")));
    return isPrivate || isImplementation || member.type === "StaticBlock";
  });
}

function usedName(node: Node): string | undefined {
  switch (node.type) {
    case "TSTypeReference":
      return leftmost(child(node, "typeName"));
    case "TSTypeQuery":
      return leftmost(child(node, "exprName"));
    case "TSInterfaceHeritage":
    case "TSClassImplements":
      return leftmost(child(node, "expression"));
    case "ClassDeclaration":
      return leftmost(child(node, "superClass"));
    default:
      return undefined;
  }
}

/** The first name of `a.b.c`. */
function leftmost(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === "Identifier") return nameOf(node);
  return leftmost(child(node, "left") ?? child(node, "object"));
}

function applyCuts(text: string, { start, end }: Node, cuts: readonly Cut[]): string {
  let result = "";
  let position = start;
  for (const cut of [...cuts].sort((one, other) => one.start - other.start || other.end - one.end)) {
    if (cut.start < position || cut.end > end) continue;
    result += text.slice(position, cut.start) + cut.by;
    position = cut.end;
  }
  return result + text.slice(position, end);
}

function tidy(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trimEnd().replace(/ ;$/, ";"))
    .map((line) => line.replace(/^(\s*(?:(?:static|override) )*)async /, "$1"))
    .filter((line) => !/^\s*;?$/.test(line))
    .join("\n");
}
