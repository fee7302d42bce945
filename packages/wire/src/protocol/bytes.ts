/** The size of text on the wire, in bytes of UTF-8. */

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
