import { expect, it } from "vitest";
import { pointsOf } from "./spark-points.ts";

it("a small line has one point per hour, with the largest count at the top", () => {
  expect(pointsOf([0, 10, 5])).toBe("0.0,18.0 48.0,2.0 96.0,10.0");
  expect(pointsOf([])).toBe("");
});
