import { expect, it } from "vitest";
import { keyOf } from "./key-of.ts";

it.each([
  ["New checkout", "new-checkout"],
  ["  Größe & Maß!  ", "gro-e-ma"],
  ["Élan vital", "elan-vital"],
  ["日本", ""],
  ["a".repeat(300), "a".repeat(128)],
])("the name %j offers the key %j", (name, key) => {
  expect(keyOf(name)).toBe(key);
});
