/** The size of text on the wire, in bytes of UTF-8. */

/** The most bytes of UTF-8 per UTF-16 unit. */
export const MAX_BYTES_PER_UNIT = 3;

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
