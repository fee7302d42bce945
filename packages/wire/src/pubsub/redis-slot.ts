/** Which of a cluster's 16,384 slots a channel is in: CRC16 (XMODEM) of its name, or of the part in braces. */

const SLOTS = 16_384;
const encoder = new TextEncoder();
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

export function slotOf(channel: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashed(channel)))
    crc = ((crc << 8) ^ (table[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

/** What is between the first brace and the next one that closes it, if that is anything. */
function hashed(channel: string): string {
  const open = channel.indexOf("{");
  const close = open === -1 ? -1 : channel.indexOf("}", open + 1);
  return close > open + 1 ? channel.slice(open + 1, close) : channel;
}
