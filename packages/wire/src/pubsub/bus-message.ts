/** What travels between processes: the frame, who sent it, and which message of theirs came before it on the topic. */

export interface BusMessage {
  /** The sending pub/sub: another one after every start. */
  readonly publisher: string;
  /** Grows with every message of the publisher. */
  readonly sequence: number;
  /** The publisher's last message on this topic that must have been heard before this one; 0 when there is none. */
  readonly previous: number;
  readonly excludeClientId: string | undefined;
  /** Absent in a mark, which only says what came before it. */
  readonly frame: string | undefined;
  /** Of a mark: how long ago the broker accepted the message it tells of. */
  readonly acceptedAgoMs?: number | undefined;
}

const NOBODY = "-";
/** Version, publisher, sequence, previous, whom to leave out; in a mark the age. */
const HEADER = /^1 ([0-9a-z-]{1,40}) ([0-9]{1,15}) ([0-9]{1,15}) (\S{1,1000})(?: ([0-9]{1,15}))?$/;
const MAX_HEADER_LENGTH = 1_100;

/** A header in one line, then the frame as it is: it is neither parsed nor copied into other JSON on its way. */
export function encodeBusMessage({
  publisher,
  sequence,
  previous,
  excludeClientId,
  frame,
  acceptedAgoMs = 0,
}: BusMessage): string {
  // "-" itself is escaped, so that it means nobody.
  const excluded =
    excludeClientId === undefined ? NOBODY : encodeURIComponent(excludeClientId).replace(/^-$/, "%2D");
  const header = `1 ${publisher} ${sequence} ${previous} ${excluded}`;
  return frame === undefined ? `${header} ${Math.floor(acceptedAgoMs)}` : `${header}\n${frame}`;
}

/** Undefined for anything that was not made by `encodeBusMessage`: whoever can reach the broker can write to it. */
export function decodeBusMessage(text: string): BusMessage | undefined {
  const end = text.indexOf("\n");
  const length = end === -1 ? text.length : end;
  if (length > MAX_HEADER_LENGTH) return undefined;
  const [, publisher, sequence, previous, excluded, age] = HEADER.exec(text.slice(0, length)) ?? [];
  if (publisher === undefined || excluded === undefined) return undefined;
  const isMark = age !== undefined;
  if (isMark !== (end === -1)) return undefined;
  const excludeClientId = decodeName(excluded);
  if (excludeClientId === null) return undefined;
  return {
    publisher,
    sequence: Number(sequence),
    previous: Number(previous),
    excludeClientId,
    frame: isMark ? undefined : text.slice(end + 1),
    ...(isMark && { acceptedAgoMs: Number(age) }),
  };
}

function decodeName(excluded: string): string | undefined | null {
  if (excluded === NOBODY) return undefined;
  try {
    return decodeURIComponent(excluded);
  } catch {
    return null;
  }
}
