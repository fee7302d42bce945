/** Parses a source file into nodes of its syntax tree, which the API reports read. */

import { parseSync, visitorKeys } from "oxc-parser";

/** A node of the tree. Fields are `unknown`, because the reports read few of them. */
export interface Node {
  readonly type: string;
  /** Position in the text, from 0. */
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Syntax {
  readonly text: string;
  /** The statements of the file. */
  readonly statements: readonly Node[];
  readonly comments: readonly { readonly start: number; readonly end: number }[];
}

export function parse(file: string, text: string): Syntax {
  const { program, comments, errors } = parseSync(file, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`);
  return { text, statements: program.body.map(toNode), comments };
}

/** The node in a field, or `undefined`. */
export function child(node: Node, field: string): Node | undefined {
  const value = node[field];
  return isNode(value) ? value : undefined;
}

/** The nodes in a field that is a list. */
export function list(node: Node, field: string): Node[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** All nodes directly below this one, in the order of the text. */
export function childrenOf(node: Node): Node[] {
  const fields = visitorKeys[node.type] ?? [];
  return fields
    .flatMap((field) => [child(node, field), ...list(node, field)])
    .filter((found) => found !== undefined);
}

/** The name of an identifier, or the text of a string. */
export function nameOf(node: Node | undefined): string {
  const name = node?.["name"] ?? node?.["value"];
  return typeof name === "string" ? name : "";
}

function toNode(value: unknown): Node {
  if (!isNode(value)) throw new Error("The parser returned something other than a syntax tree.");
  return value;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
