/** UUIDs of version 7, which sort by time. */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random bytes for many UUIDs: the call costs more than the bytes. */
const random = new Uint8Array(4096);
let used = random.length;

/** A UUID v7 of the given wall-clock time in ms. With `sequence` (below 4096), those of one ms sort by it. */
export function uuidv7(nowMs: number = Date.now(), sequence?: number): string {
  if (used > 4086) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const byte = (): number => random[used++] ?? 0;
  const hex = (): string | undefined => HEX[byte()];
  const time = Math.floor(nowMs).toString(16).padStart(12, "0");
  const order = sequence ?? byte() * 16 + (byte() & 15);
  return `${time.slice(0, 8)}-${time.slice(8)}-${HEX[112 + (order >> 8)]}${HEX[order & 255]}-${HEX[128 + (byte() & 63)]}${hex()}-${hex()}${hex()}${hex()}${hex()}${hex()}${hex()}`;
}
