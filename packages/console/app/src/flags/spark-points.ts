/** The points of a small line: one per hour, empty hours included. */
import type { FlagStats } from "../api/types.ts";

const HOUR_MS = 3_600_000;
const WIDTH = 96;
const HEIGHT = 20;
const EDGE = 2;

export function pointsOf({ window, series }: Pick<FlagStats, "window" | "series">): string {
  const startMs = Math.floor(Date.parse(window.start) / HOUR_MS) * HOUR_MS;
  const hours = Math.max(2, Math.ceil((Date.parse(window.end) - startMs) / HOUR_MS));
  const counts = Array.from({ length: hours }, () => 0);
  for (const { at, evaluations } of series) {
    const place = Math.floor((Date.parse(at) - startMs) / HOUR_MS);
    if (place >= 0 && place < hours) counts[place] = (counts[place] ?? 0) + evaluations;
  }
  const most = Math.max(1, ...counts);
  return counts
    .map((count, place) => {
      const x = (place / (hours - 1)) * WIDTH;
      const y = HEIGHT - EDGE - (count / most) * (HEIGHT - 2 * EDGE);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
