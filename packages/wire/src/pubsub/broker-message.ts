/** The message format between processes: the frame, its publisher, and the sequence numbers that reveal gaps. */
import { copyText } from "../protocol/copy-text.ts";
import type { HistoryPosition } from "./history.ts";

export interface BrokerMessage {
  /** The id of the sending pub/sub instance; a restarted process has a new one. */
  readonly publisher: string;
  /** Increases with every message of the publisher, over all topics. */
  readonly sequence: number;
  /** The sequence of the publisher's message on this topic that must arrive before this one; 0 when there is none. */
  readonly previous: number;
  readonly excludeClientId: string | undefined;
  /** Undefined in a mark: a message without content that only names the previous message. */
  readonly frame: string | undefined;
  /** The frame's place in the history of the topic, when it was appended to it. */
  readonly position?: HistoryPosition | undefined;
  /** In a mark: how long ago the broker accepted the message it refers to, in ms. */
  readonly acceptedAgoMs?: number | undefined;
}

const NO_EXCLUSION = "-";
/** Version, publisher, sequence, previous, excluded client id; in a mark also the age in ms. */
const HEADER = /^1 ([0-9a-z-]{1,40}) ([0-9]{1,15}) ([0-9]{1,15}) (\S{1,1000})(?: ([0-9]{1,15}))?$/;
/** Of an appended frame: the same, then its epoch and offset. */
const APPENDED_HEADER =
  /^2 ([0-9a-z-]{1,40}) ([0-9]{1,15}) ([0-9]{1,15}) (\S{1,1000}) ([0-9a-z.]{1,64}) ([0-9]{1,15})$/;
const MAX_HEADER_LENGTH = 1_200;

/** Writes a one-line header, then the frame unchanged, so that the frame is not parsed on the way. */
export function encodeBrokerMessage({
  publisher,
  sequence,
  previous,
  excludeClientId,
  frame,
  acceptedAgoMs = 0,
}: BrokerMessage): string {
  const header = `1 ${publisher} ${sequence} ${previous} ${encodeName(excludeClientId)}`;
  return frame === undefined ? `${header} ${Math.floor(acceptedAgoMs)}` : `${header}\n${frame}`;
}

/** The header of a frame that the broker appends to the history: it adds a space, the epoch, a space and the offset. */
export function encodeAppendedHeader({
  publisher,
  sequence,
  previous,
  excludeClientId,
}: Omit<BrokerMessage, "frame" | "position" | "acceptedAgoMs">): string {
  return `2 ${publisher} ${sequence} ${previous} ${encodeName(excludeClientId)}`;
}

/** Returns undefined for text that `encodeBrokerMessage` did not write: any process with access to the broker can publish. */
export function decodeBrokerMessage(text: string): BrokerMessage | undefined {
  const end = text.indexOf("\n");
  const length = end === -1 ? text.length : end;
  if (length > MAX_HEADER_LENGTH) return undefined;
  if (text.startsWith("2 ")) return decodeAppended(text, end);
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

function decodeAppended(text: string, end: number): BrokerMessage | undefined {
  if (end === -1) return undefined;
  const [, publisher, sequence, previous, excluded, epoch, offset] =
    APPENDED_HEADER.exec(text.slice(0, end)) ?? [];
  if (publisher === undefined || excluded === undefined || epoch === undefined) return undefined;
  const excludeClientId = decodeName(excluded);
  if (excludeClientId === null) return undefined;
  return {
    publisher,
    sequence: Number(sequence),
    previous: Number(previous),
    excludeClientId,
    frame: text.slice(end + 1),
    // Kept by the subscriber; a part of the message would keep the whole.
    position: { epoch: copyText(epoch), offset: Number(offset) },
  };
}

/** A client id of "-" is escaped, because "-" means no exclusion. */
function encodeName(excludeClientId: string | undefined): string {
  if (excludeClientId === undefined) return NO_EXCLUSION;
  return encodeURIComponent(excludeClientId).replace(/^-$/, "%2D");
}

function decodeName(excluded: string): string | undefined | null {
  if (excluded === NO_EXCLUSION) return undefined;
  try {
    return decodeURIComponent(excluded);
  } catch {
    return null;
  }
}
