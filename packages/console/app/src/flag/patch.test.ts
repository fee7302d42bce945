import { describe, expect, it } from "vitest";
import type { Flag } from "../api/types.ts";
import { inversePatch, patched } from "./patch.ts";

const flag = {
  id: "1",
  key: "sale",
  name: "Sale",
  type: "boolean",
  enabled: true,
  offValue: false,
  visibility: "public",
  algo: 1,
  version: 1,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
} satisfies Flag;

describe("a change of a flag", () => {
  it("sets the given fields and keeps the others", () => {
    expect(patched(flag, { enabled: false })).toEqual({ ...flag, enabled: false });
  });

  it("removes an optional field that is null", () => {
    expect(patched(flag, { offValue: null })).not.toHaveProperty("offValue");
  });

  it("keeps null as a value of a JSON flag", () => {
    expect(patched({ ...flag, type: "json" }, { defaultValue: null })).toHaveProperty("defaultValue", null);
  });

  it("changes the given environments and keeps the others, and is undone by its inverse", () => {
    const before = { ...flag, environments: { staging: { enabled: true }, legacy: {} } };
    const change = {
      environments: { staging: { enabled: null, rolloutPercentage: 5 }, legacy: null, beta: {} },
    };
    const after = patched(before, change);
    expect(after.environments).toEqual({ staging: { rolloutPercentage: 5 }, beta: {} });
    expect(patched(after, inversePatch(before, change))).toEqual(before);
    expect(patched(before, { environments: null })).not.toHaveProperty("environments");
    expect(inversePatch(before, { environments: null })).toEqual({ environments: before.environments });
  });

  it("is undone by its inverse, also where the field was absent", () => {
    const change = { enabled: false, rolloutPercentage: 20 };
    expect(inversePatch(flag, change)).toEqual({ enabled: true, rolloutPercentage: null });
    expect(patched(patched(flag, change), inversePatch(flag, change))).toEqual(flag);
  });
});
