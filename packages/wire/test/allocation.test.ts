/**
 * A feature that a frame does not use causes no allocation. Measured on Node without optimisation and garbage
 * collection, so the figures depend only on the source and are the same on every run.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { NODE_FLAGS } from "./fixtures/allocation/flags.ts";
import type { Report } from "./fixtures/allocation/program.ts";
import { UNUSED, USED } from "./fixtures/allocation/setups.ts";

/** Half of the smallest allocation in V8, and far above the error of the meter, which is 0.2. */
const TOLERANCE_BYTES = 8;

/**
 * The allocations of a plain router, without the engine's JSON. Lower a figure when it falls. Before you raise one,
 * check that every frame needs the addition and that it cannot be created on first use.
 */
const RECORDED_BYTES = { event: 408, request: 744, delivery: 40 };

let report: Report;

beforeAll(async () => {
  const program = fileURLToPath(new URL("fixtures/allocation/program.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, program], {
    env: { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" },
  });
  report = JSON.parse(stdout);
});

describe("a frame causes no additional allocation with", () => {
  test.each(Object.keys(UNUSED))("%s, unused", (feature) => {
    const { event, request } = report.unused[feature] ?? unmeasured;
    expect(Math.abs(event - report.plain.event)).toBeLessThan(TOLERANCE_BYTES);
    expect(Math.abs(request - report.plain.request)).toBeLessThan(TOLERANCE_BYTES);
  });
});

describe("a plain router allocates no more than recorded for", () => {
  test("an event", () => {
    expectRecorded("event", report.plain.event);
  });

  test("a request that is answered immediately", () => {
    expectRecorded("request", report.plain.request);
  });

  // Most of it is the engine's: without its compiler, each step of an iteration creates an object.
  test("each subscriber of a publish", () => {
    expectRecorded("delivery", report.delivery);
  });
});

describe("the allocation meter", () => {
  test.each(Object.keys(USED))("detects %s per frame", (work) => {
    const { request } = report.used[work] ?? unmeasured;
    expect(request - report.plain.request).toBeGreaterThan(TOLERANCE_BYTES);
  });

  test("returns the same figures before and after all the others", () => {
    expect(Math.abs(report.plainAgain.event - report.plain.event)).toBeLessThan(1);
    expect(Math.abs(report.plainAgain.request - report.plain.request)).toBeLessThan(1);
  });
});

const unmeasured = { event: Number.NaN, request: Number.NaN };

function expectRecorded(what: keyof typeof RECORDED_BYTES, bytes: number): void {
  const recorded = RECORDED_BYTES[what];
  expect(bytes, `${what}: ${recorded} bytes are recorded, see RECORDED_BYTES`).toBeLessThan(
    recorded + TOLERANCE_BYTES,
  );
  expect(bytes, `${what} got cheaper: lower RECORDED_BYTES, so that it stays so`).toBeGreaterThan(
    recorded - TOLERANCE_BYTES,
  );
}
