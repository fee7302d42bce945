import { describe, expect, test } from "vitest";
import {
  explainStrays,
  formatGoal,
  formatValue,
  type Goal,
  judge,
  median,
  pairSamples,
  planRounds,
  type Sample,
} from "./judge.ts";

const goal: Goal = { atLeast: 0.85 };
const ceiling: Goal = { atMost: 1.3 };

function repeat(value: number, times: number): number[] {
  return Array.from({ length: times }, () => value);
}

function sample(cpuUsPerOperation: number, operationsPerSecond: number, p99Us?: number): Sample {
  return { cpuUsPerOperation, operationsPerSecond, ...(p99Us !== undefined && { p99Us }) };
}

describe("judge", () => {
  test("a goal is reached when the median of the rounds is exactly the goal", () => {
    expect(judge(repeat(0.85, 10), goal)).toEqual({ value: 0.85, strays: 0, ok: true });
  });

  test("a goal is missed when the median is below it, however good the best rounds are", () => {
    expect(judge([...repeat(0.84, 6), ...repeat(9, 4)], goal)).toMatchObject({ value: 0.84, ok: false });
  });

  test("two rounds far below the goal are tolerated", () => {
    expect(judge([...repeat(0.9, 8), 0.1, 0.72], goal)).toEqual({ value: 0.9, strays: 2, ok: true });
  });

  test("three rounds far below the goal fail it, although the median reaches it", () => {
    const verdict = judge([...repeat(0.9, 7), 0.1, 0.2, 0.72], goal);
    expect(verdict).toEqual({ value: 0.9, strays: 3, ok: false });
    expect(explainStrays(verdict, goal)).toBe("3 rounds were below 0.72; at most 2 may be.");
  });

  test("a round slightly below the goal is not a stray", () => {
    expect(judge([...repeat(0.9, 6), ...repeat(0.73, 4)], goal)).toMatchObject({ strays: 0, ok: true });
  });

  test("a ceiling is kept when the median is not above it", () => {
    expect(judge(repeat(1.3, 10), ceiling)).toMatchObject({ value: 1.3, ok: true });
    expect(judge(repeat(1.31, 10), ceiling)).toMatchObject({ strays: 0, ok: false });
  });

  test("three rounds far above a ceiling break it", () => {
    const verdict = judge([...repeat(1.1, 7), ...repeat(1.54, 3)], ceiling);
    expect(verdict).toMatchObject({ value: 1.1, strays: 3, ok: false });
    expect(explainStrays(verdict, ceiling)).toBe("3 rounds were above 1.53; at most 2 may be.");
  });

  test("a verdict needs at least one round", () => {
    expect(() => judge([], goal)).toThrow("at least one value");
  });
});

describe("median", () => {
  test("is the middle value, whatever the order", () => {
    expect(median([3, 1, 2])).toBe(2);
  });

  test("is the mean of the two middle values of an even count", () => {
    expect(median([10, 1, 3, 2])).toBe(2.5);
  });
});

describe("a round", () => {
  test("runs every contestant once", () => {
    for (const round of planRounds(["ours", "zod", "json"], [], 10)) {
      expect([...round].sort()).toEqual(["json", "ours", "zod"]);
    }
  });

  test("starts with another contestant than the round before", () => {
    const rounds = planRounds(["ours", "zod", "json"], [], 4);
    expect(rounds.map((round) => round[0])).toEqual(["ours", "zod", "json", "ours"]);
  });

  test("includes peers only if it is one of the first three", () => {
    const rounds = planRounds(["ours", "zod"], ["peer"], 10);
    expect(rounds.map((round) => round.includes("peer"))).toEqual([
      ...Array(3).fill(true),
      ...Array(7).fill(false),
    ]);
  });
});

describe("a ratio", () => {
  test("is 2 for half the CPU time per operation and for twice the rate", () => {
    expect(pairSamples([sample(5, 200)], [sample(10, 100)])).toEqual({ cpu: [2], rate: [2], p99: [] });
  });

  test("is 2 for a doubled latency", () => {
    expect(pairSamples([sample(1, 1, 40)], [sample(1, 1, 20)]).p99).toEqual([2]);
  });

  test("compares only samples of the same round", () => {
    const ours = [sample(10, 1), sample(20, 1), sample(30, 1)];
    expect(pairSamples(ours, [sample(20, 1), undefined, sample(30, 1)]).cpu).toEqual([2, 1]);
  });
});

describe("the printed figure", () => {
  test("never looks like the goal when the goal is missed", () => {
    expect(formatValue(0.8499, goal)).toBe("0.84");
    expect(formatValue(1.3001, ceiling)).toBe("1.31");
  });

  test("is rounded to two digits otherwise", () => {
    expect(formatValue(0.85, goal)).toBe("0.85");
    expect(formatValue(0.267, goal)).toBe("0.27");
    expect(formatValue(1.1, ceiling)).toBe("1.10");
  });

  test("names the direction of the goal", () => {
    expect(formatGoal(goal)).toBe("≥ 0.85");
    expect(formatGoal(ceiling)).toBe("≤ 1.3");
  });

  test("has the unit of the goal where it is not a ratio", () => {
    const memory: Goal = { atMost: 2.5, unit: "KB" };
    expect(formatGoal(memory)).toBe("≤ 2.5 KB");
    expect(formatValue(2.5001, memory)).toBe("2.51 KB");
  });
});
