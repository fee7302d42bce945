import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { patchEnvironments } from "./environments.ts";
import { changedParts, partsOf, valueAt, withPartsOf } from "./parts.ts";

const settings = fc.record(
  {
    enabled: fc.boolean(),
    rolloutPercentage: fc.nat(100),
    defaultValue: fc.constantFrom("a", null, { b: 1 }),
  },
  { requiredKeys: [] },
);
const environments = fc.dictionary(fc.constantFrom("staging", "a.b", "a", "__proto__"), settings);
const flags = fc.record(
  { version: fc.nat(), name: fc.string(), salt: fc.string(), environments },
  { requiredKeys: ["version", "name"] },
);

describe("the parts of an entity", () => {
  test("are its fields, and each field of each environment; names with a dot are quoted", () => {
    const entity = {
      version: 1,
      key: "k",
      environments: { staging: { enabled: true }, "v1.2": { offValue: { a: 1 } }, beta: {} },
    };
    expect([...partsOf(entity)]).toEqual([
      ["key", "k"],
      ["environments.staging.enabled", true],
      ['environments["v1.2"].offValue', { a: 1 }],
      ["environments.beta", {}],
    ]);
    expect([...partsOf({ environments: ["staging"] })]).toEqual([["environments", ["staging"]]]);
  });

  test("of a change are those that it touches, each with a value in the entity", () => {
    const environments = { staging: { enabled: true, rolloutPercentage: 5 }, legacy: { enabled: false } };
    const touched = partsOf({
      name: "N",
      environments: { staging: { enabled: null }, legacy: null, beta: {} },
    });
    expect([...touched.keys()].map((path) => [path, valueAt({ name: "M", environments }, path)])).toEqual([
      ["name", "M"],
      ["environments.staging.enabled", true],
      ["environments.legacy", { enabled: false }],
      ["environments.beta", undefined],
    ]);
  });

  test("that changed are exactly those that bring the earlier entity back", () => {
    fc.assert(
      fc.property(flags, flags, (before, after) => {
        const parts = changedParts(before, after);
        expect(withPartsOf(after, before, parts)).toEqual({ ...before, version: after.version });
        expect(changedParts(before, before)).toEqual([]);
      }),
    );
  });
});

describe("a change of environments", () => {
  const patches = fc.dictionary(
    fc.constantFrom("staging", "a.b", "a", "__proto__"),
    fc.oneof(
      fc.constant(null),
      fc.record(
        { enabled: fc.constantFrom(true, false, null), rolloutPercentage: fc.constantFrom(0, 50, null) },
        { requiredKeys: [] },
      ),
    ),
  );

  test("is a JSON merge patch (RFC 7396), except that the last environment takes the field with it", () => {
    fc.assert(
      fc.property(environments, patches, (current, patch) => {
        const expected = mergePatch(current, patch) as object;
        const left = Object.keys(expected).length === 0 ? undefined : expected;
        expect(patchEnvironments(current, patch)).toEqual(left);
      }),
    );
  });
});

/** The algorithm of the RFC, on maps because of `__proto__`. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null) return patch;
  const isObject = typeof target === "object" && target !== null;
  const merged = new Map<string, unknown>(isObject ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
