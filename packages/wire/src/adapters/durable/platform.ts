/** The members of the Durable Objects platform that wire uses, so that applications do not need its types. */

/** The platform's WebSocket. */
export interface DurableSocket {
  /** Accepts the connection without hibernation. */
  accept(): void;
  /** Adds a listener for an event of the socket. */
  addEventListener(type: "close", listener: () => void): void;
  /** Sends a text frame. */
  send(frame: string): void;
  /** Sends a close frame. */
  close(code?: number, reason?: string): void;
  /** Stores a value that survives hibernation. */
  serializeAttachment(value: unknown): void;
  /** The stored value. */
  deserializeAttachment(): unknown;
}

/** The key-value part of an object's SQLite storage; values must be cloneable. */
export interface DurableKeyValues {
  get(key: string): unknown;
  put(key: string, value: unknown): void;
  delete(key: string): boolean;
  list(options: { readonly prefix: string }): Iterable<[string, unknown]>;
}

/** A row of a query. */
export type DurableRow = Readonly<Record<string, unknown>>;

/** The SQL part of an object's SQLite storage. */
export interface DurableSql {
  /** Runs a statement; the rows are read as they are iterated. */
  exec(query: string, ...bindings: (string | number | null)[]): Iterable<DurableRow>;
}

/** The storage of a Durable Object. */
export interface DurableStorage {
  /** The synchronous key-value storage. */
  readonly kv: DurableKeyValues;
  /** The SQL storage. */
  readonly sql: DurableSql;
  /** Runs the function in a transaction, which is rolled back when it throws. */
  transactionSync<T>(run: () => T): T;
  /** When the alarm is due, in ms since epoch. */
  getAlarm(): Promise<number | null>;
  /** Sets the one alarm of the object, in ms since epoch. */
  setAlarm(at: number): Promise<void>;
}

/** The state of a Durable Object: the first argument of its constructor. */
export interface DurableState {
  /** The storage of the object. */
  readonly storage: DurableStorage;
  /** Accepts a connection that may hibernate. */
  acceptWebSocket(socket: DurableSocket): void;
  /** The connections of the object. */
  getWebSockets(): DurableSocket[];
  /** Lets the platform answer pings while the object hibernates. */
  setWebSocketAutoResponse(pair: unknown): void;
  /** Keeps the object awake until the promise settles. */
  waitUntil(promise: Promise<unknown>): void;
}
