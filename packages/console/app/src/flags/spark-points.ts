/** The points of a small line: one per hour. */
export const WIDTH = 64;
export const HEIGHT = 18;
const EDGE = 2;

export function pointsOf(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(1, counts.length - 1);
  return counts
    .map((count, place) => {
      const y = HEIGHT - EDGE - (count / most) * (HEIGHT - 2 * EDGE);
      return `${(place * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
