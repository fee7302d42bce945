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

  it("is undone by its inverse, also where the field was absent", () => {
    const change = { enabled: false, rolloutPercentage: 20 };
    expect(inversePatch(flag, change)).toEqual({ enabled: true, rolloutPercentage: null });
    expect(patched(patched(flag, change), inversePatch(flag, change))).toEqual(flag);
  });
});
