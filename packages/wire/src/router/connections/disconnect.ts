/** Matches the connections of a `disconnect`. A match is plain data, so that it can be sent to other processes. */
import { isObject } from "../../protocol/checks.ts";
import type { Connection } from "../contracts.ts";
import type { AnyData } from "./peer.ts";

/** Which connections to close. All given fields must match. `Data` is the connection data of the router. */
export interface DisconnectMatch<Data extends object = AnyData> {
  /** The connection with this id. */
  readonly clientId?: string;
  /** Connections subscribed to this topic. */
  readonly topic?: string;
  /** Fields of the connection's data, with the values they must have. */
  readonly data?: { readonly [K in keyof Data]?: Matchable<Data[K]> };
}

/** Only strings and numbers can be compared in other processes. */
type Matchable<T> = unknown extends T ? string | number : Extract<T, string | number>;

/** How to close the connections. */
export interface DisconnectOptions {
  /** The close code. Default 4403, after which the client of wire does not reconnect. */
  readonly code?: number;
  /** Default empty. */
  readonly reason?: string;
}

/** Whether the id, a UUID v7, was created before this wall time in ms. Ids of another kind count as old. */
export function isOlder(clientId: string, wallMs: number): boolean {
  const createdAt = Number.parseInt(clientId.slice(0, 13).replace("-", ""), 16);
  return !(clientId[14] === "7" && createdAt >= wallMs);
}

/** Whether every value can be compared and sent to other processes. */
export function isPlainMatch({ clientId, topic, data = {} }: Readonly<Record<string, unknown>>): boolean {
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  const isPlain = (value: unknown) => typeof value === "string" || Number.isFinite(value);
  return isText(clientId) && isText(topic) && isObject(data) && Object.values(data).every(isPlain);
}

/** Throws for an empty match, which would close every connection. */
export function createMatcher(match: DisconnectMatch): (ws: { clientId: string; data: object }) => boolean {
  const { clientId, topic, data = {} } = match;
  const fields = Object.entries(data);
  if (clientId === undefined && topic === undefined && fields.length === 0) {
    throw new TypeError(
      "disconnect() got an empty match, which would close every connection. Pass a clientId, a topic or data fields.",
    );
  }
  if (!isPlainMatch({ ...match })) {
    throw new TypeError(
      "disconnect() got a value that is neither a string nor a finite number, and cannot be sent to other processes. Match strings and finite numbers only.",
    );
  }
  return (ws) =>
    (clientId === undefined || ws.clientId === clientId) &&
    (topic === undefined || ((ws as Connection).topics?.has(topic) ?? false)) &&
    fields.every(([key, value]) => (ws.data as Record<string, unknown>)[key] === value);
}
