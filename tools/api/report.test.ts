import { describe, expect, test } from "vitest";
import { type Entry, findStaleReports, writeReports } from "./report.ts";

const ENTRY: Entry = { name: "@halyard/demo", report: "api/demo/index.txt", source: "src/index.ts" };

function reportOf(files: Readonly<Record<string, string>>): string {
  const read = (file: string): string => {
    const text = files[file];
    if (text === undefined) throw new Error(`No ${file}.`);
    return text;
  };
  return writeReports([ENTRY], read).get(ENTRY.report) ?? "";
}

describe("the API report of an entry point", () => {
  test("has the signatures of all exports, in the order of their names, without comments and bodies", () => {
    const report = reportOf({
      "src/index.ts": 'export { start } from "./start.ts";\nexport type { Options } from "./options.ts";\n',
      "src/options.ts":
        "/** Text. */\nexport interface Options {\n  /** Unit. */\n  readonly timeoutMs?: number;\n}\n",
      "src/start.ts":
        'import type { Options } from "./options.ts";\n\nexport async function start(options: Options): Promise<void> {\n  await run(options); // now\n}\n',
    });
    expect(report).toBe(
      [
        "@halyard/demo",
        "export interface Options {\n  readonly timeoutMs?: number;\n}",
        "export function start(options: Options): Promise<void>;\n",
      ].join("\n\n"),
    );
  });

  test("has the types that the exports use, also by way of another type or a namespace", () => {
    const report = reportOf({
      "src/index.ts":
        'import * as all from "./all.ts";\nimport type { Hidden as Used } from "./types.ts";\n\nexport type Api = typeof all;\nexport const value: Used = make();\n',
      "src/all.ts": "export const one: number = 1;\nconst unused: string = one;\n",
      "src/types.ts":
        "export interface Hidden extends Base {\n  readonly deep: Deep;\n}\ninterface Base {}\ntype Deep = 1;\ntype Unused = 2;\n",
    });
    expect(report).toContain("export const value: Used;");
    expect(report).toMatch(
      /without a name of their own here:\n\ninterface Base \{\}\n\ntype Deep = 1;\n\ninterface Hidden/,
    );
    expect(report).toContain("const one: number;");
    expect(report).not.toMatch(/unused/i);
  });

  test("has overloads in their order and not their implementation, and no private members of a class", () => {
    const report = reportOf({
      "src/index.ts": [
        "export function read(key: string): string;",
        "export function read(id: number): number;",
        "export function read(value: string | number): string | number {\n  return value;\n}",
        "export class Box<T> extends Map<string, T> {",
        "  static readonly size: number = 1;\n  #value: T;\n  private hidden = 2;",
        "  constructor(value: T) {\n    super();\n    this.#value = value;\n  }",
        "  get value(): T {\n    return this.#value;\n  }\n}",
      ].join("\n"),
    });
    expect(report).toBe(
      [
        "@halyard/demo",
        "export class Box<T> extends Map<string, T> {\n  static readonly size: number;\n  constructor(value: T);\n  get value(): T;\n}",
        "export function read(key: string): string;",
        "export function read(id: number): number;\n",
      ].join("\n\n"),
    );
  });

  test("names the packages from which names are passed on", () => {
    const report = reportOf({
      "src/index.ts": 'export { z } from "zod";\nexport { inner as outer } from "./inner.ts";\n',
      "src/inner.ts": "export const inner = 1;\n",
    });
    expect(report).toContain('export { z } from "zod";');
    expect(report).toContain("export { inner as outer };");
    expect(report).toContain("const inner = 1;");
  });
});

describe("a report is out of date", () => {
  const source = "export const one: number = 1;\n";
  const current = reportOf({ "src/index.ts": source });
  test.for([
    ["if it is missing", {}, ["api/demo/index.txt"]],
    ["if the source has another signature", { "api/demo/index.txt": "old" }, ["api/demo/index.txt"]],
    [
      "if its entry point is gone",
      { "api/demo/index.txt": current, "api/demo/gone.txt": "" },
      ["api/demo/gone.txt"],
    ],
  ] as const)("%s", ([, reports, names]) => {
    const files: Record<string, string> = { "src/index.ts": source, ...reports };
    const tree = { files: Object.keys(files), read: (file: string) => files[file] ?? "" };
    const [advice, ...found] = findStaleReports([ENTRY], tree);
    expect(advice).toContain("npm run api");
    expect(found).toEqual(names);
  });

  test("but not if it has the signatures of the source", () => {
    const files: Record<string, string> = { "src/index.ts": source, "api/demo/index.txt": current };
    const tree = { files: Object.keys(files), read: (file: string) => files[file] ?? "" };
    expect(findStaleReports([ENTRY], tree)).toEqual([]);
  });
});
