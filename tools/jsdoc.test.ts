import { expect, test } from "vitest";
import { findUndocumented } from "./jsdoc.ts";

function undocumented(files: Readonly<Record<string, string>>): string[] {
  const tree = { files: Object.keys(files), read: (file: string) => files[file] ?? "" };
  return findUndocumented(tree, ["src/index.ts"]);
}

test("reports exports and members without JSDoc, with their lines", () => {
  const source = [
    "/** Documented. */",
    "export interface Options<",
    "  T extends object = object,",
    "> {",
    "  /** Documented. */",
    "  readonly a?: T;",
    "  readonly b: {",
    "    readonly c?: string;",
    "  };",
    "  // Not JSDoc.",
    "  run(",
    "    first: string,",
    "  ): void;",
    "}",
    "",
    "export function make(): void {",
    "  const local: number = 1;",
    "}",
    "export type Hook = (",
    "  ctx: string,",
    ") => unknown;",
    "/** Documented, with parameters instead of members. */",
    "export type Method<T> = <",
    "  const U extends object,",
    ">(",
    "  call: { readonly body: T } & Call<",
    "    U",
    "  >,",
    ") => void;",
  ].join("\n");
  expect(undocumented({ "src/index.ts": source })).toEqual([
    "src/index.ts:11: `Options.run` has no JSDoc.",
    "src/index.ts:16: `make` has no JSDoc.",
    "src/index.ts:19: `Hook` has no JSDoc.",
    "src/index.ts:7: `Options.b` has no JSDoc.",
    "src/index.ts:8: `Options.c` has no JSDoc.",
  ]);
});

test("follows re-exports, renamed exports and stars, and ignores what is not public", () => {
  const files = {
    "src/index.ts": [
      'import type { Local } from "./a/local.ts";',
      'export { type One, two as deux } from "./a/b.ts";',
      'export type * from "./star.ts";',
      "export type { Local };",
    ].join("\n"),
    "src/a/b.ts": "export interface One {}\nexport const two = 2;\nexport const internal = 3;\n",
    "src/a/local.ts": "export interface Local {}\n",
    "src/star.ts": "export interface Star {}\nconst hidden = 1;\n",
  };
  expect(undocumented(files)).toEqual([
    "src/a/b.ts:1: `One` has no JSDoc.",
    "src/a/b.ts:2: `two` has no JSDoc.",
    "src/a/local.ts:1: `Local` has no JSDoc.",
    "src/star.ts:1: `Star` has no JSDoc.",
  ]);
});

test("accepts a member that a parent documents, and reports members of a parent without a public name", () => {
  const files = {
    "src/index.ts": 'export type { Child } from "./child.ts";\n',
    "src/child.ts": [
      'import type { Parent } from "./parent.ts";',
      "/** A child. */",
      "export class Child<T extends Date> extends Map<T, T> implements Parent {",
      "  readonly #secret = 1;",
      "  readonly kept = true;",
      "  private own = 1;",
      "  constructor() {",
      "    super();",
      "  }",
      "  both(a: string): void;",
      "  both(a: number): void;",
      "  get size(): number {",
      "    return 1;",
      "  }",
      "}",
    ].join("\n"),
    "src/parent.ts": [
      "export interface Parent {",
      "  /** Documented here. */",
      "  readonly kept: boolean;",
      "  both(a: unknown): void;",
      "}",
    ].join("\n"),
  };
  expect(undocumented(files)).toEqual([
    "src/child.ts:10: `Child.both` has no JSDoc.",
    "src/child.ts:12: `Child.size` has no JSDoc.",
    "src/parent.ts:4: `Parent.both` has no JSDoc.",
  ]);
});
