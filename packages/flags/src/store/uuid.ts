/** UUID v7, time-ordered, for the entries of the audit log. */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A UUID v7 of the given wall-clock time in ms. */
export function uuidV7(nowMs: number): string {
  const view = new DataView(crypto.getRandomValues(new Uint8Array(16)).buffer);
  view.setUint32(0, Math.floor(nowMs / 2 ** 16));
  view.setUint16(4, nowMs % 2 ** 16);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  let text = "";
  for (let byte = 0; byte < 16; byte++) {
    if (byte === 4 || byte === 6 || byte === 8 || byte === 10) text += "-";
    text += HEX[view.getUint8(byte)];
  }
  return text;
}
