/** Makes UUIDs of version 7, which sort by time. */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random bytes for many UUIDs: the call costs more than the bytes. */
const random = new Uint8Array(4096);
const RANDOM_BYTES = 10;
let used = random.length;

/** A UUID v7 of the given wall-clock time in ms. With `sequence` (below 4096), those of one ms sort by it. */
export function uuidV7(nowMs: number, sequence?: number): string {
  if (used + RANDOM_BYTES > random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const from = used;
  used += RANDOM_BYTES;
  const hex = (at: number): string => HEX[random[from + at] ?? 0] ?? "";
  const time = Math.floor(nowMs).toString(16).padStart(12, "0");
  const order = sequence ?? ((random[from] ?? 0) << 8) | (random[from + 1] ?? 0);
  const version = HEX[0x70 | ((order >> 8) & 0x0f)];
  const variant = HEX[0x80 | ((random[from + 2] ?? 0) & 0x3f)];
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${HEX[order & 0xff]}-${variant}${hex(3)}-${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`;
}
