/** The size of text on the wire. */

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
