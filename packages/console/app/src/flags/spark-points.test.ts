import { expect, it } from "vitest";
import { pointsOf } from "./spark-points.ts";

it("a small line has one point per hour, with the largest count at the top", () => {
  expect(pointsOf([0, 10, 5])).toBe("0.0,16.0 32.0,2.0 64.0,9.0");
  expect(pointsOf([])).toBe("");
});
