/** What processes tell each other about themselves: that they live, that they have missed messages, that they stop. */
import { isObject } from "../protocol/checks.ts";
import { copyText } from "../protocol/copy-text.ts";

export type PeerMessage = { readonly from: string } & (
  | {
      readonly is: "alive";
      /** The sender's next sign of life comes within this time. 0: it sends none, and is not known as a peer. */
      readonly everyMs: number;
      /** The sender is new, or has missed messages: it wants to be told. */
      readonly hello: boolean;
      /** What the sender's reader tells with each sign of life. */
      readonly note?: unknown;
    }
  | { readonly is: "bye"; readonly graceMs: number }
);

const PREFIX = '{"type":"$ws:peer"';
const MAX_ID_LENGTH = 64;
/** Any process with access to the broker can publish: no process is waited for longer than this. */
export const MAX_EVERY_MS = 100_000;

export function encodePeer(message: PeerMessage): string {
  return `${PREFIX},${JSON.stringify(message).slice(1)}`;
}

/** Undefined when the text is not a valid message. */
export function decodePeer(text: string): PeerMessage | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    return messageOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function messageOf(message: unknown): PeerMessage | undefined {
  if (!isObject(message)) return undefined;
  const { is, from, everyMs, hello, graceMs, note } = message;
  if (typeof from !== "string" || from === "" || from.length > MAX_ID_LENGTH) return undefined;
  const sender = { from: copyText(from) };
  if (is === "bye") return isTime(graceMs) ? { ...sender, is, graceMs } : undefined;
  if (is !== "alive" || !isTime(everyMs)) return undefined;
  return { ...sender, is, everyMs: Math.min(everyMs, MAX_EVERY_MS), hello: hello === true, note };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
