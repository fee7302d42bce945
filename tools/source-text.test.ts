import { describe, expect, test } from "vitest";
import { findPassages, scan } from "./source-text.ts";

/** Source with a template in it; a placeholder in this file's own strings would look like a mistake. */
const template = (source: string): string => source.replaceAll("$@", "$\u007b");

const read = (source: string, file = "packages/wire/src/a.ts"): string[] =>
  findPassages(file, source).map(({ text, line }) => `${line}: ${text.trim()}`);

describe("passages", () => {
  test("are comments of every kind, each with the line it starts on", () => {
    const source = "// one\nconst a = 1; // two\n\n/** three */\n/*\n * four\n */\n";
    expect(read(source)).toEqual(["1: one\ntwo", "4: three", "5: four"]);
  });

  test("join line comments on successive lines, and no others", () => {
    expect(read("// a phrase may\n// continue\n\n// here\n")).toEqual([
      "1: a phrase may\ncontinue",
      "4: here",
    ]);
  });

  test("leave out code in comments", () => {
    expect(read("/**\n * Calls `nobody()`.\n * ```ts\n * nobody();\n * ```\n * End.\n */")).toEqual([
      "1: Calls code.\n\n\n\nEnd.",
    ]);
  });

  test("are strings of three words or more", () => {
    expect(read('throw new Error("It did not work"); const a = "two words";')).toEqual([
      "1: It did not work",
    ]);
  });

  test("are messages of errors and of the console at any length", () => {
    const source = [
      'throw new WsError("NOT_FOUND", { message: "two words" });',
      'console.warn("one", isLate ? "late" : "early");',
      'const error = "data"; fail("data");',
      template("new errors.TypeError(`no $@name}`);"),
    ].join("\n");
    expect(read(source)).toEqual([
      "1: NOT_FOUND",
      "1: two words",
      "2: one",
      "2: late",
      "2: early",
      "4: no …",
    ]);
  });

  test("are templates, without their values", () => {
    expect(read(template("log(`the flag $@names.map((n) => `$@n}`).join()} is unknown`);"))).toEqual([
      "1: the flag … is unknown",
    ]);
  });

  test("in a test file are titles and comments, but not data", () => {
    const source = [
      'describe("a title", () => {',
      '  test.for([["data in a table"]])("a title of a table: %s", async () => {',
      '    send("data that a test sends"); // a comment',
      "  });",
      template("  test(`a title of $@count}`, () => {});"),
      "});",
      'const breaks = [{ title: "a title in a table", text: "data of the table" }];',
    ].join("\n");
    expect(read(source, "packages/wire/test/a.test.ts")).toEqual([
      "1: a title",
      "2: a title of a table: %s",
      "3: a comment",
      "5: a title of …",
      "7: a title in a table",
    ]);
  });

  test("in a test file are titles after type arguments", () => {
    const source = [
      'describe.each<[string, () => Map<string, number>]>([["data in a table"]])("a suite: %s", () => {});',
      'test.for<{ key: Names["a>b"]; n?: number }>([])(',
      '  "a test",',
      ");",
      'test.each<Partial<A>[]>(rows)("another test", () => test < limit);',
    ].join("\n");
    expect(read(source, "packages/wire/test/a.test.ts")).toEqual([
      "1: a suite: %s",
      "3: a test",
      "5: another test",
    ]);
  });

  test("are the names of cases in the client's suite, and no names elsewhere", () => {
    const source = 'const cases = [{ name: "the client connects", run() {} }, { url: "one two three" }];';
    expect(read(source, "packages/wire/test/client/suite/states.ts")).toEqual(["1: the client connects"]);
    expect(read(source, "packages/wire/test/client/kit.ts")).toEqual([]);
  });
});

describe("a comment or string is not taken for one", () => {
  test.for([
    ["in a regular expression", 'const a = /"[^/"]*\'\\/* /; // end'],
    ["after a division", "const a = b / c; // end"],
    ["in a string", 'const a = "// \\" /* no"; // end'],
    ["in a template", template("const a = `// $@b} /* no`; // end")],
    ["after an apostrophe in JSX", "const a = <p>don't</p>;\n// end"],
  ] as const)("%s", ([, source]) => {
    const comments = scan(source).filter(({ kind }) => kind !== "string");
    expect(comments.map(({ text }) => text)).toEqual(["// end"]);
  });
});
