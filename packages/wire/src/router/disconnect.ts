/** Which connections a `disconnect` means. Plain data, so that it can travel to other nodes. */
import type { Connection } from "./connection.ts";

export interface DisconnectMatch {
  readonly clientId?: string;
  /** Subscribed to this topic. */
  readonly topic?: string;
  /** Fields of the connection's data. */
  readonly data?: Readonly<Record<string, string | number>>;
}

export interface DisconnectOptions {
  /** Default 4403, after which our client does not come back by itself. */
  readonly code?: number;
  readonly reason?: string;
}

/** A match that names nothing is refused: it would mean everybody. */
export function matcher(match: DisconnectMatch): (ws: { clientId: string; data: object }) => boolean {
  const { clientId, topic, data = {} } = match;
  const fields = Object.entries(data);
  if (clientId === undefined && topic === undefined && fields.length === 0) {
    throw new TypeError("disconnect() was given nothing to match. Name a clientId, a topic or data fields.");
  }
  return (ws) =>
    (clientId === undefined || ws.clientId === clientId) &&
    (topic === undefined || ((ws as Connection).topics?.has(topic) ?? false)) &&
    fields.every(([key, value]) => (ws.data as Record<string, unknown>)[key] === value);
}
