import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const KNOWN = ["email", "emailVerified", "role", "plan", "organizationId"];

test.for([
  ["emial", "email"],
  ["Email", "email"],
  ["emal", "email"],
  ["emailverifed", "emailVerified"],
  ["organisationId", "organizationId"],
  ["rol", "role"],
  ["pa", undefined],
  ["country", undefined],
  ["", undefined],
] as const)("%s is probably %s", ([given, expected]) => {
  expect(nearestName(given, KNOWN)).toBe(expected);
});

test("two swapped characters are one error", () => {
  expect(nearestName("emial", KNOWN, 1)).toBe("email");
  expect(nearestName("eamli", KNOWN, 1)).toBe(undefined);
});
