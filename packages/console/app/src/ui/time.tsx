/** A time as people say it ("3 hours ago"), with the exact one as a title. */
import type { ReactNode } from "react";
import { locales, texts } from "../texts.ts";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat(texts.language, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(locales, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(locales, { weekday: "long", month: "long", day: "numeric" });
const clock = new Intl.DateTimeFormat(locales, { hour: "2-digit", minute: "2-digit" });

/** `short`: without "ago", for a column of times. */
export function Time({ at, short = false }: { readonly at: string; readonly short?: boolean }): ReactNode {
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {short ? shortTime(at) : relativeTime(at)}
    </time>
  );
}

/** Without months, which would have the letter of minutes. */
const SHORT_UNITS = [["year", 31_536_000], ["week", 604_800], ...UNITS.slice(2)] as const;

function shortTime(at: string, nowMs: number = Date.now()): string {
  const seconds = Math.abs(Date.parse(at) - nowMs) / 1000;
  const unitOf = SHORT_UNITS.find(([, one]) => seconds >= one);
  if (unitOf === undefined) return texts.common.now;
  const [unit, length] = unitOf;
  const format = { style: "unit", unit, unitDisplay: "narrow" } as const;
  return new Intl.NumberFormat(texts.language, format).format(Math.floor(seconds / length));
}

function relativeTime(at: string, nowMs: number = Date.now()): string {
  const seconds = (Date.parse(at) - nowMs) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  if (unit === undefined) return texts.common.justNow;
  return relative.format(Math.round(seconds / unit[1]), unit[0]);
}

export const dayOf = (at: string): string => day.format(new Date(at));
export const clockOf = (at: string): string => clock.format(new Date(at));
