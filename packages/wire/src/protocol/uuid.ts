/** UUID v7: time-ordered ids for connections and requests. */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A UUID v7 of the given wall-clock time in ms. */
export function uuidv7(nowMs: number = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(nowMs / 2 ** 16));
  view.setUint16(4, nowMs % 2 ** 16);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  let text = "";
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
    text += HEX[view.getUint8(i)];
  }
  return text;
}
