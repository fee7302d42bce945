/** A fast encoder for the most common frames: meta with a timestamp and at most a correlation id. */

/** The start of a frame, by message type. */
const prefixes = new Map<string, string>();
const NEEDS_NO_ESCAPE = /^[\w.:-]+$/;

type ShortEncoder = (
  type: string,
  timestamp: number,
  correlationId: string | undefined,
  payload: unknown,
) => string;

/** For Bun: JavaScriptCore copies a concatenated string once more before it is sent. */
export const encodeWhole: ShortEncoder = (type, timestamp, correlationId, payload) =>
  JSON.stringify({ type, meta: { timestamp, correlationId }, payload });

/** For V8: concatenation avoids the objects that `JSON.stringify` needs. */
export const encodeInPieces: ShortEncoder = (type, timestamp, correlationId, payload) => {
  let prefix = prefixes.get(type);
  if (prefix === undefined) {
    prefix = `{"type":${JSON.stringify(type)},"meta":{"timestamp":`;
    prefixes.set(type, prefix);
  }
  let frame = prefix + timestamp;
  if (correlationId !== undefined) {
    frame += NEEDS_NO_ESCAPE.test(correlationId)
      ? `,"correlationId":"${correlationId}"`
      : `,"correlationId":${JSON.stringify(correlationId)}`;
  }
  const body: string | undefined = JSON.stringify(payload);
  return body === undefined ? `${frame}}}` : `${frame}},"payload":${body}}`;
};

/** `encode` for frames with only these meta keys. Uses the variant that is faster on this engine. */
export const encodeShort: ShortEncoder = "Bun" in globalThis ? encodeWhole : encodeInPieces;
