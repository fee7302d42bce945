import { describe, expect, it } from "vitest";
import { asKind, kindOf, kindsOf, listOf } from "./operand.ts";

describe("the operand of a condition", () => {
  it("is a list for the operators that take one, else of the kind of its value", () => {
    expect(kindOf("in", "NO")).toBe("list");
    expect([
      kindOf("equals", "a"),
      kindOf("equals", 1),
      kindOf("equals", true),
      kindOf("equals", null),
    ]).toEqual(["text", "number", "boolean", "json"]);
  });

  it("offers numbers and dates for an order, and text only for parts of a text", () => {
    expect(kindsOf("greater_than")).toEqual(["number", "text"]);
    expect(kindsOf("ends_with")).toEqual(["text"]);
  });

  it("keeps what was typed when the kind changes", () => {
    expect(asKind("5", "number")).toBe(5);
    expect(asKind("NO", "list")).toEqual(["NO"]);
    expect(asKind(["NO", "SE"], "text")).toBe("NO, SE");
    expect(asKind("many", "number")).toBe("");
  });

  it("reads a list of numbers as numbers, and any other as text", () => {
    expect(listOf("1, 2.5, -3")).toEqual([1, 2.5, -3]);
    expect(listOf("NO,\nSE, 5")).toEqual(["NO", "SE", "5"]);
  });
});
