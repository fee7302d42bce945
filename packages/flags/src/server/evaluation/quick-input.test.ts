import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseBootstrapInput, parseEvaluateInput } from "../../model/evaluation-input.ts";
import { present } from "./context.ts";
import { readBootstrapInput, readEvaluateInput } from "./quick-input.ts";

const json = fc.jsonValue({ maxDepth: 3 });
const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("x".repeat(300), "\ud800", "\0", ""));
const or = <Value>(common: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 6, arbitrary: common }, { weight: 1, arbitrary: json });
const number = fc.oneof(fc.double(), fc.constantFrom(1e20, Number.MAX_VALUE));

const context = fc.record(
  {
    userId: or(text),
    email: or(text),
    role: or(text),
    organizationId: or(text),
    anonymousId: or(text),
    attributes: or(fc.dictionary(text, fc.oneof(text, number, fc.boolean(), fc.constant(null), json))),
    device: or(fc.record({ type: fc.constantFrom("mobile", "sundial"), os: text, unknown: text })),
    geo: or(fc.record({ country: text })),
    unknown: json,
  },
  { requiredKeys: [] },
);
const common = {
  context: or(context),
  select: or(fc.constantFrom("full", "value", ["value"], [])),
  environment: or(text),
  track: or(fc.boolean()),
  debug: or(fc.boolean()),
  unknown: json,
};
const single = fc.record(
  { ...common, flagKey: or(text), default: json, contextInResponse: or(fc.boolean()) },
  { requiredKeys: ["flagKey"] },
);
const bootstrap = fc.record(
  {
    ...common,
    include: or(fc.array(text)),
    prefix: or(text),
    includeDisabled: or(fc.boolean()),
    position: or(text),
  },
  { requiredKeys: [] },
);

/** The fields that evaluations read, or the error. */
function outcome<Input extends { context?: Parameters<typeof present>[0] | undefined }>(
  read: () => Input,
  fields: readonly (keyof Input)[],
) {
  try {
    const input = read();
    const used = Object.fromEntries(fields.map((field) => [field, input[field]]));
    return { ...used, context: input.context && present(input.context) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : error };
  }
}

describe("a body that needs no schema", () => {
  const shared = ["select", "environment", "track", "debug"] as const;

  test("of one flag is accepted and refused as the schema does", () => {
    fc.assert(
      fc.property(or(single), (given) => {
        const raw = JSON.stringify(given) ?? "null";
        const fields = [...shared, "flagKey", "default", "contextInResponse"] as const;
        const body: unknown = JSON.parse(raw);
        expect(outcome(() => readEvaluateInput(body, raw.length), fields)).toEqual(
          outcome(() => parseEvaluateInput(body), fields),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("of a bootstrap is accepted and refused as the schema does", () => {
    fc.assert(
      fc.property(or(bootstrap), (given) => {
        const raw = JSON.stringify(given) ?? "null";
        const fields = [...shared, "include", "prefix", "includeDisabled", "position"] as const;
        const body: unknown = JSON.parse(raw);
        expect(outcome(() => readBootstrapInput(body, raw.length), fields)).toEqual(
          outcome(() => parseBootstrapInput(body), fields),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("is small: the schema checks a large one against the limit of the context", () => {
    const body = { context: { attributes: { long: "x".repeat(17_000) } } };
    expect(() => readBootstrapInput(body, JSON.stringify(body).length)).toThrow("too many bytes");
  });

  test("has finite numbers only", () => {
    const body: unknown = JSON.parse('{"context":{"attributes":{"n":1e999}}}');
    expect(() => readBootstrapInput(body, 40)).toThrow("not valid");
  });
});
