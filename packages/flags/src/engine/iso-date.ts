/** Parsing of ISO 8601 dates for comparisons. `Date.parse` accepts other formats and uses the local time zone. */

const SHAPE =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d{2}):(\d{2}))?)?$/;
const LONGEST = "2026-01-01T00:00:00.000000000+00:00".length;
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Parses a date (`2026-01-02`) or a date-time in the extended format (`2026-01-02T03:04:05.678Z`, seconds optional).
 * Without an offset the time is UTC, so that every machine agrees. Returns milliseconds since 1970, or `undefined`.
 */
export function parseIsoDate(text: string): number | undefined {
  if (text.length > LONGEST) return undefined;
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0));
  if (year === undefined || month === undefined || day === undefined) return undefined;
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  const offset = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  if (Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) return undefined;
  if (day < 1 || day > daysIn(year, month)) return undefined;
  const minutes = (daysBefore(year, month, day) * 24 + hour) * 60 + minute;
  const shifted = minutes - (match[8] === "-" ? -offset : offset);
  return (shifted * 60 + second) * 1_000 + Number(`0.${match[7] ?? 0}`) * 1_000;
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
}

/** Days from 1970-01-01. The year starts in March here, so that the leap day is its last day. */
function daysBefore(year: number, month: number, day: number): number {
  const shiftedYear = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays =
    Math.floor(shiftedYear / 4) - Math.floor(shiftedYear / 100) + Math.floor(shiftedYear / 400);
  return shiftedYear * 365 + leapDays + dayOfYear - 719_468;
}
