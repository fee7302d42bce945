/** Thousands of sessions, and clients of them that are subscribed to live flags. */
import { wsClient } from "@halyard/wire/client";
import type { Pool } from "pg";
import { WebSocket } from "ws";
import { type LivePosition, Subscribe, Sync, Updated } from "../../src/live/messages.ts";

const OPENING_AT_ONCE = 100;
/** Rows changed a moment ago are read by value. A day old, as most rows of an application are. */
const CHANGED_AT = "now() - interval '1 day'";

/** Adds users with a session each, whose tokens the clients have. */
export async function addSessions(database: Pool, count: number): Promise<void> {
  await database.query(
    `insert into "user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
     select 'user-' || i, 'User', 'user-' || i || '@example.com', true, ${CHANGED_AT}, ${CHANGED_AT} from generate_series(1, $1::int) i`,
    [count],
  );
  await database.query(
    `insert into "session" ("id", "token", "userId", "expiresAt", "createdAt", "updatedAt")
     select 'session-' || i, 'token-' || lpad(i::text, 26, '0'), 'user-' || i, now() + interval '7 days', ${CHANGED_AT}, ${CHANGED_AT} from generate_series(1, $1::int) i`,
    [count],
  );
}

/** Clients of sessions from `first` on, connected. */
export async function openClients(url: string, count: number, first: number = 1): Promise<Client[]> {
  const clients = Array.from({ length: count }, (_, at) => new Client(url, first + at));
  for (let start = 0; start < clients.length; start += OPENING_AT_ONCE) {
    await Promise.all(clients.slice(start, start + OPENING_AT_ONCE).map((client) => client.connect()));
  }
  return clients;
}

/** A client that subscribes like `featureFlagsLiveClient()`, and keeps only its position. */
export class Client {
  at: LivePosition = [];
  /** When the last change arrived, on the clock of `performance.now()`. */
  updatedAtMs = 0;
  /** How often the server sent all values. */
  fullSets = 0;
  #tag: string | undefined;
  #socket: WebSocket | undefined;
  readonly #wire;

  constructor(url: string, user: number) {
    const headers = { authorization: `Bearer token-${String(user).padStart(26, "0")}` };
    this.#wire = wsClient({
      url,
      wsFactory: (address, protocols) => {
        this.#socket = new WebSocket(address, protocols, { headers });
        return this.#socket;
      },
    });
    this.#wire.onError(() => undefined);
    this.#wire.on(Sync, ({ tag, at, full }) => {
      this.#tag = tag ?? this.#tag;
      this.at = at;
      if (full) this.fullSets += 1;
    });
    this.#wire.on(Updated, ({ at }) => {
      this.at = at ?? this.at;
      this.updatedAtMs = performance.now();
    });
    this.#wire.onState((state) => {
      if (state === "open") this.#subscribe();
    });
  }

  connect(): Promise<void> {
    return this.#wire.connect();
  }

  #subscribe(): void {
    const resume = this.#tag === undefined ? {} : { tag: this.#tag, at: this.at };
    // A refused subscription is tried again, as the real client does.
    this.#wire.request(Subscribe, { id: 1, ...resume }).catch(() => {
      setTimeout(() => this.#wire.isConnected && this.#subscribe(), 1_000);
    });
  }

  cut(): void {
    this.#socket?.terminate();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }
}
