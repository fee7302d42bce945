import { describe, expect, test } from "vitest";
import type { Rival } from "./measurement.ts";
import { describeRivals, type Outcome, renderPages, type Setting } from "./page.ts";

const setting: Setting = { cores: 2, runtimes: ["Node 24.0.0", "Bun 1.4.0"], libraries: ["ws 8.0.0"] };

function outcome(name: string, ok: boolean, rivals: readonly Rival[] = []): Outcome {
  const value = ok ? 0.91 : 0.8;
  return {
    name,
    about: "RPC echo",
    goal: { atLeast: 0.85 },
    rounds: 2,
    verdict: { value, strays: 0, ok },
    table: [
      ["", "CPU µs/op"],
      ["Halyard", "3.21"],
    ],
    doubts: ["The machine was busy."],
    chart: { title: "Requests answered", bars: [{ name: "Halyard", role: "ours", value: 1 }] },
    rivals,
  };
}

function render(...outcomes: readonly Outcome[]): string {
  return renderPages(outcomes, setting).get("performance.md") ?? "";
}

describe("the page", () => {
  test("states for each goal what was measured and whether it is reached", () => {
    const page = render(outcome("rpc-node", true), outcome("rpc-bun", false));
    expect(page).toContain("| [rpc-node](#rpc-node) | ≥ 0.85 | 0.91 | reached |");
    expect(page).toContain("| [rpc-bun](#rpc-bun) | ≥ 0.85 | 0.80 | **short** |");
  });

  test("has a section with table, chart and doubts for each measurement", () => {
    const page = render(outcome("rpc-node", true));
    expect(page).toContain("## rpc-node\n\nRPC echo.\n\n![Requests answered](performance/rpc-node.svg)");
    expect(page).toContain("|  | CPU µs/op |\n|---|--:|\n| Halyard | 3.21 |");
    expect(page).toContain("Median of 2 rounds: 0.91 (goal ≥ 0.85). The machine was busy.");
  });

  test("names the commit that was measured", () => {
    const page = render({ ...outcome("rpc-node", true), commit: "abc1234" });
    expect(page).toContain(
      "Median of 2 rounds: 0.91 (goal ≥ 0.85), at commit abc1234. The machine was busy.",
    );
  });

  test("contains the charts that it shows", () => {
    const pages = renderPages([outcome("rpc-node", true)], setting);
    expect([...pages.keys()]).toEqual(["performance.md", "performance/rpc-node.svg"]);
    expect(pages.get("performance/rpc-node.svg")).toMatch(/^<svg /);
  });

  test("names cores and versions, and no date", () => {
    const page = render(outcome("rpc-node", true));
    expect(page).toContain("Measured on 2 cores with Node 24.0.0 and Bun 1.4.0; ws 8.0.0.");
    expect(page).not.toMatch(/\b20\d\d\b/);
  });
});

describe("other libraries", () => {
  test("are all behind us when every lead is above 1", () => {
    const outcomes = [
      outcome("rpc-node", true, [{ name: "tRPC", lead: 3.1 }]),
      outcome("fanout-node", true, [{ name: "tRPC", lead: 1.01 }]),
    ];
    expect(describeRivals(outcomes)).toBe(
      "Ahead of every other library in requests and fan-out (tRPC): reached.",
    );
  });

  test("that we are not ahead of are named with the measurement", () => {
    const outcomes = [
      outcome("rpc-bun", true, [
        { name: "Elysia", lead: 1 },
        { name: "ws-kit", lead: 5 },
      ]),
    ];
    expect(describeRivals(outcomes)).toBe(
      "Ahead of every other library in requests and fan-out (Elysia, ws-kit): short, behind Elysia in rpc-bun (CPU ratio 1.00).",
    );
  });
});
