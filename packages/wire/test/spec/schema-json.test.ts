import { describe, expect, test, vi } from "vitest";
import { z as z3 } from "zod/v3";
import * as core from "../../src/index.ts";
import * as valibot from "../../src/valibot.ts";
import * as zod from "../../src/zod.ts";

const { z } = zod;
const { v } = valibot;

/** Compiles with any argument, as in JavaScript. */
const make = (library: { message: unknown }) =>
  library.message as (type: string, second: unknown, meta?: unknown) => unknown;
const makeRpc = zod.rpc as (type: string, payload: unknown, response: string, fields: unknown) => unknown;

describe("guide/schemas: Date, bigint, Map and other types without JSON", () => {
  test.each([
    ["date", z.date()],
    ["bigint", z.bigint()],
    ["map", z.map(z.string(), z.number())],
    ["set", z.set(z.string())],
    ["symbol", z.symbol()],
    ["nan", z.nan()],
    ["instance", z.instanceof(Uint8Array)],
    ["file", z.file()],
    ["promise", z.promise(z.string())],
  ])("Zod's %s is refused, with the field, also when it is nested or optional", (type, schema) => {
    const named = (path: string) =>
      new RegExp(`^The payload of X has the field "${path}" of type ${type}, which has no JSON form\\. \\w`);
    const refused = (fields: unknown, path: string) => {
      const pattern = named(path.replaceAll(/[[\].]/g, "\\$&"));
      expect(() => make(zod)("X", fields)).toThrow(pattern);
    };
    refused({ at: schema }, "at");
    refused(z.object({ at: schema }), "at");
    refused({ payload: { at: schema } }, "at");
    refused({ a: z.string(), items: z.array(z.object({ at: schema.optional() })) }, "items[].at");
    refused({ by: z.record(z.string(), schema.nullable()) }, "by[]");
    refused({ pair: z.tuple([z.string(), schema]) }, "pair[]");
    refused({ either: z.union([z.string(), z.object({ at: schema })]) }, "either.at");
    refused({ both: z.intersection(z.object({ a: z.string() }), z.object({ at: schema })) }, "both.at");
    refused({ at: schema.readonly() }, "at");
    refused({ at: schema.transform(String) }, "at");
    expect(() => make(zod)("X", {}, { at: schema })).toThrow('The meta of X has the field "at"');
    expect(() => makeRpc("X", {}, "Y", { at: schema })).toThrow('The payload of Y has the field "at"');
    expect(() => make(core)("X", z.strictObject({ at: schema }))).toThrow(named("at"));
  });

  test.each([
    ["date", v.date()],
    ["bigint", v.bigint()],
    ["map", v.map(v.string(), v.number())],
    ["set", v.set(v.string())],
    ["symbol", v.symbol()],
    ["nan", v.nan()],
    ["instance", v.instance(Uint8Array)],
    ["blob", v.blob()],
    ["file", v.file()],
    ["promise", v.promise()],
    ["function", v.function()],
  ])("Valibot's %s is refused, with the field, also when it is nested or optional", (type, schema) => {
    const field: valibot.v.GenericSchema = schema;
    const refused = (fields: unknown, path: string) =>
      expect(() => make(valibot)("X", fields)).toThrow(
        `The payload of X has the field "${path}" of type ${type}, which has no JSON form.`,
      );
    refused({ at: field }, "at");
    refused(v.object({ at: field }), "at");
    refused({ items: v.array(v.object({ at: v.optional(field) })) }, "items[].at");
    refused({ by: v.record(v.string(), v.nullable(field)) }, "by[]");
    refused({ pair: v.tuple([v.string(), field]) }, "pair[]");
    refused({ either: v.union([v.string(), v.object({ at: field })]) }, "either.at");
    refused({ both: v.intersect([v.object({ a: v.string() }), v.object({ at: field })]) }, "both.at");
    refused({ at: v.pipe(field, v.transform(String)) }, "at");
    expect(() => make(core)("X", v.strictObject({ at: field }))).toThrow('the field "at"');
  });

  test("types that arrive as something else may be converted from a JSON value", () => {
    interface Tree {
      readonly children: readonly Tree[];
    }
    const Tree: zod.z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(Tree) }));
    const Category = z.object({
      get children() {
        return z.array(Category);
      },
    });
    const fields = {
      coerced: z.coerce.date(),
      iso: z.iso.datetime().transform((text) => new Date(text)),
      decoded: z.codec(z.iso.datetime(), z.date(), {
        decode: (text) => new Date(text),
        encode: (date) => date.toISOString(),
      }),
      prepared: z.preprocess((value) => new Date(String(value)), z.date()),
      many: z.array(z.string()).transform((list) => new Set(list)),
      own: z.custom<string>((value) => typeof value === "string"),
      anything: z.unknown(),
      none: z.undefined(),
      tree: Tree,
      category: Category,
    };
    expect(() => zod.message("X", fields)).not.toThrow();
    expect(() =>
      zod.message("X", {
        get later() {
          return notYet;
        },
      }),
    ).not.toThrow();
    const notYet = z.string();
    expect(() =>
      valibot.message("X", {
        iso: v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
        many: v.pipe(
          v.array(v.string()),
          v.transform((list) => new Set(list)),
        ),
        lazy: v.lazy(() => v.string()),
        anything: v.unknown(),
      }),
    ).not.toThrow();
  });
});

describe("guide/schemas: Zod 3", () => {
  test("a field or object made by Zod 3 is refused, with its name", () => {
    const remedy =
      'was not made by Zod 4. Import z from "@halyard/wire/zod", so that both use the same version.';
    expect(() => make(zod)("X", { name: z3.string() })).toThrow(
      `The payload of X: The field "name" ${remedy}`,
    );
    expect(() => make(zod)("X", z3.object({}))).toThrow(`The payload of X: The schema ${remedy}`);
  });

  test("an installed Zod 3 is reported with the command to run", async () => {
    vi.doMock("zod", () => import("zod/v3"));
    vi.resetModules();
    const old = await import("../../src/zod.ts");
    vi.doUnmock("zod");
    vi.resetModules();
    const schemas = old.z as unknown as typeof z3;
    expect(() => make(old)("X", { name: schemas.string() })).toThrow(
      "@halyard/wire/zod needs Zod 4, but the installed package `zod` is an older version. Run `npm install zod@4`.",
    );
  });
});
