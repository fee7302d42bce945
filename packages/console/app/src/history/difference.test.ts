import { describe, expect, it } from "vitest";
import { differencesOf } from "./difference.ts";

describe("the difference of two entities", () => {
  it("names each changed field with its path, its old and its new value", () => {
    const before = { enabled: true, environments: { staging: { enabled: true } } };
    const after = { enabled: false, environments: { staging: { enabled: true }, beta: { enabled: false } } };
    expect(differencesOf(before, after)).toEqual([
      { path: "enabled", before: true, after: false },
      { path: "environments.beta.enabled", before: undefined, after: false },
    ]);
  });

  it("names each setting of the first environment that has some, and of the last one", () => {
    const environments = { production: { rolloutPercentage: 10 } };
    const path = "environments.production.rolloutPercentage";
    expect(differencesOf({}, { environments })).toEqual([{ path, before: undefined, after: 10 }]);
    expect(differencesOf({ environments }, {})).toEqual([{ path, before: 10, after: undefined }]);
  });

  it("leaves out what changes with every write", () => {
    expect(differencesOf({ version: 1, updatedAt: "a" }, { version: 2, updatedAt: "b" })).toEqual([]);
  });

  it("lists the fields of a new entity, and of a deleted one", () => {
    expect(differencesOf(null, { key: "sale" })).toEqual([{ path: "key", before: undefined, after: "sale" }]);
    expect(differencesOf({ key: "sale" }, null)).toEqual([{ path: "key", before: "sale", after: undefined }]);
  });
});
