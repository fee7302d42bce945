import { describe, expect, test } from "vitest";
import { type Chart, drawChart } from "./chart.ts";

const chart: Chart = {
  title: "Requests & answers",
  bars: [
    { name: "Halyard", role: "ours", value: 200_400 },
    { name: "a < b", role: "baseline", value: 100_200 },
    { name: "below zero", role: "baseline", value: -3 },
  ],
};

/** The widths of the bars of a role, without its square in the legend. */
function widthsOf(svg: string, role: string): number[] {
  const bars = svg.matchAll(
    new RegExp(`class="${role}" x="[\\d.]+" y="\\d+" width="([\\d.]+)" height="18"`, "g"),
  );
  return [...bars].map(([, width]) => Number(width));
}

describe("a chart", () => {
  test("has bars in proportion to their values, and none below 0", () => {
    const svg = drawChart(chart);
    const [longest = 0] = widthsOf(svg, "ours");
    expect(longest).toBeGreaterThan(300);
    const [half = 0, nothing] = widthsOf(svg, "baseline");
    expect(half / longest).toBeCloseTo(0.5, 2);
    expect(nothing).toBe(0);
  });

  test("is drawn without bars when no value is above 0", () => {
    const svg = drawChart({ title: "t", bars: [{ name: "n", role: "ours", value: 0 }] });
    expect(widthsOf(svg, "ours")).toEqual([0]);
  });

  test("prints each value with three digits beside its bar", () => {
    expect(drawChart(chart)).toContain(">200,000</text>");
  });

  test("is readable on light and on dark pages and by a screen reader", () => {
    const svg = drawChart(chart);
    expect(svg).toContain("prefers-color-scheme: dark");
    expect(svg).toContain("<title>Requests &amp; answers</title>");
  });

  test("is well-formed for any names", () => {
    expect(drawChart(chart)).toContain(">a &lt; b</text>");
  });

  test("explains only the colours that it contains", () => {
    const svg = drawChart(chart);
    expect(svg).toContain("by hand on the engine");
    expect(svg).not.toContain("other libraries");
  });
});
