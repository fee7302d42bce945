import { expect, it } from "vitest";
import { pointsOf } from "./spark-points.ts";

it("a small line has one point per hour, with the largest count at the top", () => {
  const points = pointsOf({
    window: { start: "2026-01-01T00:00:00.000Z", end: "2026-01-01T03:00:00.000Z" },
    series: [
      { at: "2026-01-01T01:00:00.000Z", evaluations: 10 },
      { at: "2026-01-01T02:00:00.000Z", evaluations: 5 },
    ],
  });
  expect(points).toBe("0.0,18.0 48.0,2.0 96.0,10.0");
});
