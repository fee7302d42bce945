/** Which connections a `disconnect` means. Plain data, so that it can travel to other nodes. */
import { isObject } from "../protocol/envelope.ts";
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

/** Whether the id, a UUID v7, was made before this wall time in ms; any other id is taken for old. */
export function isOlder(clientId: string, wallMs: number): boolean {
  const madeAt = Number.parseInt(clientId.slice(0, 13).replace("-", ""), 16);
  return !(clientId[14] === "7" && madeAt >= wallMs);
}

/** Whether all it names can be compared, and be told to other processes as it is. */
export function isPlainMatch({ clientId, topic, data = {} }: Readonly<Record<string, unknown>>): boolean {
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  const isPlain = (value: unknown) => typeof value === "string" || Number.isFinite(value);
  return isText(clientId) && isText(topic) && isObject(data) && Object.values(data).every(isPlain);
}

/** A match that names nothing is refused: it would mean everybody. */
export function matcher(match: DisconnectMatch): (ws: { clientId: string; data: object }) => boolean {
  const { clientId, topic, data = {} } = match;
  const fields = Object.entries(data);
  if (clientId === undefined && topic === undefined && fields.length === 0) {
    throw new TypeError("disconnect() was given nothing to match. Name a clientId, a topic or data fields.");
  }
  if (!isPlainMatch({ ...match })) {
    throw new TypeError(
      "disconnect() matches strings and finite numbers only; others could not be told to all processes.",
    );
  }
  return (ws) =>
    (clientId === undefined || ws.clientId === clientId) &&
    (topic === undefined || ((ws as Connection).topics?.has(topic) ?? false)) &&
    fields.every(([key, value]) => (ws.data as Record<string, unknown>)[key] === value);
}
