/** Codes and reasons of close frames. */

/** The most bytes of UTF-8 in the reason. */
const MAX_REASON_BYTES = 123;

/** Throws when the code may not be in a close frame. */
export function checkCloseCode(code: number): void {
  if (isCloseCode(code)) return;
  throw new RangeError(`The close code ${code} cannot be sent. Use 1000, or a code from 3000 to 4999.`);
}

/** Whether a code may be in a close frame; the others only describe how a connection ended. */
export function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999);
}

/** Cuts the reason to the bytes that a close frame can hold, at a character. */
export function shortReason(reason: string): string {
  if (reason.length * 3 <= MAX_REASON_BYTES) return reason;
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
  return reason.slice(0, read);
}
