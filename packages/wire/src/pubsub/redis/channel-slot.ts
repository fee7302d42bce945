/** The slot of a channel in a Redis Cluster: CRC16 (XMODEM) of its name, or of the part in braces, modulo 16,384. */

const SLOTS = 16_384;
const encoder = new TextEncoder();
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

export function slotOf(channel: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashTag(channel)))
    crc = ((crc << 8) ^ (table[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

/** The text between the first opening brace and the next closing one, unless it is empty; else the whole name. */
export function hashTag(channel: string): string {
  const open = channel.indexOf("{");
  const close = open === -1 ? -1 : channel.indexOf("}", open + 1);
  return close > open + 1 ? channel.slice(open + 1, close) : channel;
}
