/** Checks the counters, gauges and warnings of the meter. */
import { describe, expect, test } from "vitest";
import { createMeter, DURATION_BOUNDS_MS, type Gauge } from "./meter.ts";

function createTestMeter() {
  const warnings: string[] = [];
  const clock = { nowMs: 0 };
  const meter = createMeter({ warn: (message) => warnings.push(message), monotonicMs: () => clock.nowMs });
  return { meter, warnings, clock };
}

describe("the meter", () => {
  test("counts every loss, and warns at most once a minute", () => {
    const { meter, warnings, clock } = createTestMeter();
    meter.lost("exposure", 2);
    meter.lost("exposure", 3);
    clock.nowMs = 59_999;
    meter.lost("exposure", 1);
    expect(warnings).toEqual(["2 exposures could not be recorded; 2 since the start."]);
    clock.nowMs = 60_000;
    meter.lost("exposure", 1);
    expect(warnings.at(-1)).toBe("5 exposures could not be recorded; 7 since the start.");
    expect(meter.figures().losses).toEqual({
      exposure: 7,
      "identity-link": 0,
      "evaluation-count": 0,
      "sink-event": 0,
    });
  });

  test("warns separately for each kind of loss, and not for a loss of 0", () => {
    const { meter, warnings } = createTestMeter();
    meter.lost("exposure", 0);
    meter.lost("exposure", 1);
    meter.lost("sink-event", 1);
    expect(warnings).toHaveLength(2);
  });

  test("counts each duration in its bucket, and a duration over the last bound in none", () => {
    const { meter } = createTestMeter();
    for (const durationMs of [0, 0.1, 0.11, 1, 10_000, 10_001]) meter.answered("op", 200, durationMs);
    meter.answered("op", 500, 3);
    const [ok, failed] = meter.figures().durations;
    expect(ok).toMatchObject({ operation: "op", status: 200, count: 6 });
    const filled = DURATION_BOUNDS_MS.map((boundMs, index) => [boundMs, ok?.buckets[index]]);
    expect(filled.filter(([, count]) => count !== 0)).toEqual([
      [0.1, 2],
      [0.25, 1],
      [1, 1],
      [10_000, 1],
    ]);
    expect(failed).toMatchObject({ status: 500, count: 1, sumMs: 3 });
  });

  test("replaces a gauge that is registered again, and reads NaN from a gauge that throws", () => {
    const { meter } = createTestMeter();
    meter.observe("depth", "h", () => 1);
    meter.observe("depth", "h", () => 2);
    meter.observe("depth", "h", () => 3, { sink: "a" });
    meter.observe("broken", "h", () => {
      throw new Error("no");
    });
    expect(meter.figures().gauges.map(({ name, labels, read }) => [name, labels, read()])).toEqual([
      ["depth", {}, 2],
      ["depth", { sink: "a" }, 3],
      ["broken", {}, Number.NaN],
    ]);
  });

  test("notifies a listener once of each gauge, including earlier ones", () => {
    const { meter } = createTestMeter();
    const observed: Gauge[] = [];
    meter.observe("first", "h", () => 1);
    meter.listen({ answered: () => undefined, observed: (gauge) => observed.push(gauge) });
    meter.observe("second", "h", () => 2);
    meter.observe("first", "h", () => 3);
    expect(observed.map(({ name, read }) => [name, read()])).toEqual([
      ["first", 3],
      ["second", 2],
    ]);
  });
});
