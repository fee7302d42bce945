import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseIsoDate } from "./iso-date.ts";

describe("parseIsoDate", () => {
  test("parses the output of Date.toISOString for the years 0000 to 9999", () => {
    const date = fc.date({
      min: new Date("0000-01-01T00:00:00.000Z"),
      max: new Date("9999-12-31T23:59:59.999Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(date, (instant) => {
        expect(parseIsoDate(instant.toISOString())).toBe(instant.getTime());
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["a date without a time is midnight UTC", "2026-02-03", "2026-02-03T00:00:00.000Z"],
    ["a time without an offset is UTC", "2026-02-03T04:05:06", "2026-02-03T04:05:06.000Z"],
    ["seconds may be left out", "2026-02-03T04:05Z", "2026-02-03T04:05:00.000Z"],
    ["a positive offset is subtracted", "2026-02-03T04:05:06+05:30", "2026-02-02T22:35:06.000Z"],
    ["a negative offset is added", "2026-02-03T04:05:06-08:00", "2026-02-03T12:05:06.000Z"],
    ["a leap day is a valid date", "2024-02-29", "2024-02-29T00:00:00.000Z"],
  ])("%s", (_name, given, same) => {
    expect(parseIsoDate(given)).toBe(Date.parse(same));
  });

  test("fractions below a millisecond keep their order", () => {
    const earlier = parseIsoDate("2026-01-01T00:00:00.000001Z") ?? Number.NaN;
    expect(parseIsoDate("2026-01-01T00:00:00.000002Z")).toBeGreaterThan(earlier);
  });

  test.each([
    "",
    "2026",
    "2026-13-01",
    "2026-00-01",
    "2026-02-29",
    "2026-02-00",
    "1900-02-29",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+0500",
    "2026-01-01 00:00:00",
    "2026-01-01t00:00:00z",
    " 2026-01-01",
    "2026-01-01\n",
    "Jan 1, 2026",
    "1767225600000",
    "2026-01-01T00:00:00.0000000001Z",
  ])("%j is not an ISO date", (given) => {
    expect(parseIsoDate(given)).toBeUndefined();
  });
});
