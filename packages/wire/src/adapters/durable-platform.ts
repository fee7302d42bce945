/** The members of the Durable Objects platform that are used here, so that no consumer needs its types. */

/** The platform's WebSocket. */
export interface DurableSocket {
  accept(): void;
  addEventListener(type: "close", listener: () => void): void;
  send(frame: string): void;
  close(code?: number, reason?: string): void;
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}

/** The key-value part of an object's SQLite storage; values are whatever can be cloned. */
export interface DurableKeyValues {
  get(key: string): unknown;
  put(key: string, value: unknown): void;
  delete(key: string): boolean;
  list(options: { readonly prefix: string }): Iterable<[string, unknown]>;
}

export interface DurableStorage {
  readonly kv: DurableKeyValues;
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

/** The state of a Durable Object: the first argument of its constructor. */
export interface DurableState {
  readonly storage: DurableStorage;
  acceptWebSocket(socket: DurableSocket): void;
  getWebSockets(): DurableSocket[];
  setWebSocketAutoResponse(pair: unknown): void;
  waitUntil(promise: Promise<unknown>): void;
}
