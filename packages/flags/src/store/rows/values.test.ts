import { describe, expect, test } from "vitest";
import type { FeatureFlag } from "../../model/flag.ts";
import { requireFit, requireOwnFit } from "./values.ts";

const AT = new Date("2026-01-01T00:00:00Z");
const flagOf = (fields: object): FeatureFlag => ({
  id: "f",
  key: "f",
  name: "F",
  type: "number",
  enabled: true,
  visibility: "public",
  algo: 1,
  version: 1,
  createdAt: AT,
  updatedAt: AT,
  ...fields,
});

describe("a flag", () => {
  const good = { key: "a", weight: 50, value: 1 };

  test.each([
    ["defaultValue", { defaultValue: "1" }],
    ["offValue", { offValue: "1" }],
    ["variants.1.value", { variants: [good, { key: "b", weight: 50, value: "1" }] }],
    ["environments.test.defaultValue", { environments: { live: {}, test: { defaultValue: "1" } } }],
    ["environments.test.offValue", { environments: { live: { offValue: 1 }, test: { offValue: "1" } } }],
  ])("whose %s does not fit its type is refused with the field", (field, fields) => {
    expect(() => requireOwnFit(flagOf(fields))).toThrow(
      expect.objectContaining({
        code: "INVALID_FLAG_TYPE",
        message: `${field} does not fit the type of the flag. Send a value of type number.`,
        details: { field, type: "number" },
      }),
    );
    expect(() => requireOwnFit(flagOf({ ...fields, type: "json" }))).not.toThrow();
  });

  test("is accepted with values that fit, and without values", () => {
    const environments = { live: { defaultValue: 1, offValue: 2 }, test: {} };
    requireOwnFit(flagOf({ defaultValue: 0, offValue: 1, variants: [good], environments }));
    requireOwnFit(flagOf({}));
  });

  test("of another type is refused with all details of the value", () => {
    expect(() => requireFit({ type: "boolean" }, 1, { field: "type", ruleId: "r" })).toThrow(
      expect.objectContaining({ details: { field: "type", ruleId: "r", type: "boolean" } }),
    );
  });
});
