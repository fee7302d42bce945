import { describe, expect, test } from "vitest";
import { FeatureFlagError } from "./errors.ts";
import { MAX_FLAG_BYTES, parseCreateInput, parseEvaluateInput } from "./inputs.ts";

function refusal(work: () => unknown): FeatureFlagError {
  try {
    work();
  } catch (error) {
    if (error instanceof FeatureFlagError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("the body of a new flag", () => {
  const valid = { key: "k", name: "N", type: "boolean" };

  test.each(["a", "A-b_9", "__proto__", "-", "k".repeat(128)])("%j is a key", (key) => {
    expect(parseCreateInput({ ...valid, key }).key).toBe(key);
  });

  test.each([
    ["no key", { key: undefined }],
    ["an empty key", { key: "" }],
    ["a key with a space", { key: "has space" }],
    ["a key with a slash", { key: "sl/ash" }],
    ["a key with a dot", { key: "dot.ted" }],
    ["a key with a line break at its end", { key: "k\n" }],
    ["a key with letters beyond ASCII", { key: "ü" }],
    ["a key of 129 characters", { key: "k".repeat(129) }],
    ["no name", { name: undefined }],
    ["an empty name", { name: "" }],
    ["a name with NUL", { name: "a\u0000" }],
    ["a name with half a surrogate pair", { name: "\ud800" }],
    ["a description that is not text", { description: null }],
    ["no type", { type: undefined }],
    ["an enabled that is not a boolean", { enabled: "yes" }],
    ["metadata that is not an object", { metadata: [1] }],
    ["metadata that is not JSON", { metadata: { at: new Date(0) } }],
    ["a default value that is not JSON", { type: "json", defaultValue: new Map() }],
    ["a field of nobody's", { colour: "red" }],
    ["a field this version does not have", { rolloutPercentage: 10 }],
  ])("%s is a VALIDATION_ERROR", (_name, change) => {
    const error = refusal(() => parseCreateInput({ ...valid, ...change }));
    expect([error.code, error.status]).toEqual(["VALIDATION_ERROR", 400]);
    expect(error.details?.["issues"]).toHaveLength(1);
  });

  test.each([undefined, null, "text", 5, []])("%j is not a body", (body) => {
    expect(refusal(() => parseCreateInput(body)).code).toBe("VALIDATION_ERROR");
  });

  test.each(["date", "Boolean", "", 5, null, {}])("the type %j is an INVALID_FLAG_TYPE", (type) => {
    const error = refusal(() => parseCreateInput({ ...valid, type }));
    expect([error.code, error.status, error.details]).toEqual(["INVALID_FLAG_TYPE", 400, { field: "type" }]);
  });

  test.each([
    ["boolean", "true"],
    ["boolean", 0],
    ["boolean", null],
    ["string", 1],
    ["string", null],
    ["number", "1"],
    ["number", true],
  ])("for the type %s the default value %j is an INVALID_FLAG_TYPE", (type, defaultValue) => {
    expect(refusal(() => parseCreateInput({ ...valid, type, defaultValue })).code).toBe("INVALID_FLAG_TYPE");
  });

  test("the message names the field and the reason", () => {
    const error = refusal(() => parseCreateInput({ ...valid, key: "sl/ash", colour: "red" }));
    expect(error.message).toContain("key: must be 1–128 characters");
    expect(error.message).toContain('"colour"');
  });

  test("its size is measured in bytes, not characters", () => {
    const metadata = { note: "é".repeat(MAX_FLAG_BYTES / 2) };
    expect(refusal(() => parseCreateInput({ ...valid, metadata })).details).toEqual({
      limit: MAX_FLAG_BYTES,
    });
  });
});

describe("the body of an evaluation", () => {
  test("unknown keys are ignored", () => {
    expect(parseEvaluateInput({ flagKey: "k", colour: "red", context: { userId: "u", shoe: 43 } })).toEqual({
      flagKey: "k",
      context: { userId: "u" },
    });
  });

  test.each([
    {},
    { flagKey: 5 },
    { flagKey: "k", select: "everything" },
    { flagKey: "k", select: ["colour"] },
    { flagKey: "k", context: { userId: 5 } },
    { flagKey: "k", contextInResponse: "yes" },
    { flagKey: "k", default: Number.NaN },
  ])("%j is a VALIDATION_ERROR", (body) => {
    expect(refusal(() => parseEvaluateInput(body)).code).toBe("VALIDATION_ERROR");
  });
});
