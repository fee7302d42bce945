import { expect, test } from "vitest";
import { FLAG_FIELDS } from "../../model/flag.ts";
import { mappingOf } from "./mapping.ts";

const flags = mappingOf(FLAG_FIELDS);
const [created, changed] = [new Date(0), new Date(1)];
const small = { key: "k", name: "K", type: "json" } as const;

test("a new entity has its defaults, and keeps null, false and empty text", () => {
  expect(flags.create(small, created, { id: "i" })).toEqual({
    ...{ id: "i", ...small, enabled: false, visibility: "public", algo: 1, version: 1 },
    ...{ createdAt: created, updatedAt: created },
  });
  const said = { defaultValue: null, tenantOverridable: false, description: "" };
  expect(flags.create({ ...small, ...said }, created, { id: "i" })).toMatchObject(said);
});

test("a patch keeps what it does not name, clears what it sets to null, and replaces the rest", () => {
  const flag = flags.create({ ...small, salt: "s", description: "d" }, created, { id: "i" });
  const after = flags.patch(flag, { salt: null, name: "L", rolloutPercentage: 0 }, changed, "json");
  const { salt: _salt, ...kept } = flag;
  expect(after).toEqual({ ...kept, name: "L", rolloutPercentage: 0, version: 2, updatedAt: changed });
});

test("null is a value of JSON flags, and clears a value of the others", () => {
  const flag = flags.create({ ...small, defaultValue: 1 }, created, { id: "i" });
  const nulled = (type: "json" | "string") => flags.patch(flag, { defaultValue: null }, changed, type);
  expect(nulled("json")).toHaveProperty("defaultValue", null);
  expect(nulled("string")).not.toHaveProperty("defaultValue");
});

test("a row becomes the entity that it was made of, with its fields in the same order", () => {
  const variants = [{ key: "a", weight: 100, value: { deep: [1] } }];
  const flag = flags.create({ ...small, variants, defaultValue: null, metadata: {} }, created, { id: "i" });
  const back = flags.toEntity({ id: "1", tenant: "", ...flags.toColumns(flag) });
  expect(JSON.stringify(back)).toBe(JSON.stringify(flag));
  expect(JSON.stringify(flags.revive(JSON.stringify(flag)))).toBe(JSON.stringify(flag));
});
