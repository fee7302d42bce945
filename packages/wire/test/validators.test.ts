import * as wire from "../src/index.ts";
import * as valibot from "../src/valibot.ts";
import * as zod from "../src/zod.ts";
import { validatorContract } from "./contract/validator.ts";

const { z } = zod;
const { v } = valibot;

validatorContract("Zod", {
  Ordered: zod.message("ORDERED", { item: z.string(), count: z.number().min(1).default(1) }),
  Entered: zod.message("ENTERED", { meta: { room: z.string() } }),
  Measure: zod.rpc("MEASURE", { text: z.string() }, "MEASURED", { length: z.number() }),
});

validatorContract("Zod, given object schemas", {
  Ordered: zod.message("ORDERED", z.object({ item: z.string(), count: z.number().min(1).default(1) })),
  Entered: zod.message("ENTERED", { meta: z.object({ room: z.string() }) }),
  Measure: zod.message("MEASURE", {
    payload: z.object({ text: z.string() }),
    response: z.object({ length: z.number() }),
  }),
});

validatorContract("Valibot", {
  Ordered: valibot.message("ORDERED", {
    item: v.string(),
    count: v.optional(v.pipe(v.number(), v.minValue(1)), 1),
  }),
  Entered: valibot.message("ENTERED", { meta: { room: v.string() } }),
  Measure: valibot.rpc("MEASURE", { text: v.string() }, "MEASURED", { length: v.number() }),
});

type Fields = Readonly<
  Record<string, { readonly check: (value: unknown) => boolean; readonly absent?: unknown }>
>;

/** A Standard Schema written by hand. It is strict, because the core leaves strictness to the library. */
function fields<Input, Output = Input>(shape: Fields): wire.StandardSchema<Input, Output> {
  const names = new Map(Object.entries(shape));
  return {
    "~standard": {
      version: 1,
      vendor: "by-hand",
      validate(value) {
        if (typeof value !== "object" || value === null || Array.isArray(value))
          return { issues: [{ message: "not an object" }] };
        const given = new Map(Object.entries(value));
        const unknown = [...given.keys()].filter((key) => !names.has(key));
        const issues = unknown.map((key) => ({
          message: "unknown",
          path: [{ key }] as { key: PropertyKey }[],
        }));
        const output: Record<string, unknown> = {};
        for (const [key, { check, absent }] of names) {
          const field = given.has(key) ? given.get(key) : absent;
          if (check(field)) output[key] = field;
          else issues.push({ message: "wrong", path: [{ key }] });
        }
        return issues.length > 0 ? { issues } : { value: output as Output };
      },
    },
  };
}

const isString = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";

validatorContract("a Standard Schema written by hand", {
  Ordered: wire.message(
    "ORDERED",
    fields<{ item: string; count?: number }, { item: string; count: number }>({
      item: { check: isString },
      count: { check: (value) => isNumber(value) && Number(value) >= 1, absent: 1 },
    }),
  ),
  Entered: wire.message("ENTERED", { meta: fields<{ room: string }>({ room: { check: isString } }) }),
  Measure: wire.rpc(
    "MEASURE",
    fields<{ text: string }>({ text: { check: isString } }),
    "MEASURED",
    fields<{ length: number }>({ length: { check: isNumber } }),
  ),
});
