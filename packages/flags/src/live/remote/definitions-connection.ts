/** The one connection of a process: follows the server's definitions and builds a set for each position. */
import { WsError } from "@halyard/wire";
import { type ClientOptions, type StateInfo, type WsClient, wsClient } from "@halyard/wire/client";
import { DefinitionsChanged, GetDefinitions } from "../definitions/protocol.ts";
import { type DefinitionSet, SetBuilder } from "./definition-set.ts";

/** How often an unchanged set is confirmed, which also finds an announcement that was lost. */
const CONFIRM_MS = 15_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** The delay after a failed read on an open connection; it doubles up to the second value. */
const RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

export interface ConnectionEvents {
  /**
   * A new set, or the same one confirmed. `changedKeys`: the flags that may answer differently; undefined if it is not
   * known which.
   */
  received(set: DefinitionSet, changedKeys: readonly string[] | undefined, stale: boolean): void;
  /** The server is not, or no longer, connected. The client tries again by itself. */
  lost(error: WsError): void;
  /** The server cannot be read although it is connected, or has sent an invalid set. */
  failed(error: WsError): void;
  /** The server has refused the key, or the last attempt has failed. No further attempt is made. */
  refused(error: WsError): void;
}

export interface ConnectionOptions {
  readonly url: string;
  readonly key: string;
  readonly environment: string | undefined;
  readonly maxBytes: number;
  readonly wsFactory: ClientOptions["wsFactory"];
  readonly reconnect: ClientOptions["reconnect"];
}

export class DefinitionsConnection {
  readonly #client: WsClient;
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  /** The last set, and so the position that the server is asked to continue from. */
  #set: DefinitionSet | undefined;
  #isReading = false;
  /** A change was announced during a read. */
  #isBehind = false;
  #isClosed = false;
  #wasOpen = false;
  /** Why the client ended, if it did. */
  #lastError: WsError | undefined;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    const { url, key, wsFactory, reconnect } = options;
    this.#options = options;
    this.#events = events;
    this.#client = wsClient({
      url,
      // A query would appear in the logs of proxies.
      auth: { getToken: () => key, attach: "protocol" },
      unknownKeys: "strip",
      // A page that is requested on the next connection would be out of order.
      queue: "off",
      ...(wsFactory && { wsFactory }),
      ...(reconnect && { reconnect }),
    });
    this.#client.onError((error) => this.#clientFailed(error));
    this.#client.onState((state, info) => this.#stateChanged(state, info));
    this.#client.on(DefinitionsChanged, ({ stale }) => {
      // The read below may take long where the server is overloaded.
      if (stale && this.#set !== undefined) this.#events.received(this.#set, [], true);
      this.#read();
    });
  }

  /** Continues from a set that another process of this application has stored. */
  resume(set: DefinitionSet): void {
    this.#set ??= set;
  }

  open(): void {
    // `onError` reports failed attempts; only an address that cannot be used ends here without a state.
    this.#client.connect().catch((error: unknown) => {
      if (WsError.isWsError(error) && error.code === "INVALID_ARGUMENT") this.#end(error);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client.close();
  }

  #stateChanged(state: WsClient["state"], info: StateInfo | undefined): void {
    if (this.#isClosed) return;
    if (state === "open") {
      this.#wasOpen = true;
      this.#failures = 0;
      this.#read();
      return;
    }
    clearTimeout(this.#timer);
    if (state === "closed") this.#end(refusalOf(this.#lastError, info));
    else if (this.#wasOpen) this.#events.lost(lossOf(info));
    this.#wasOpen = false;
  }

  #clientFailed(error: WsError): void {
    this.#lastError = error;
    if (this.#isClosed || this.#client.state === "closed") return;
    if (this.#client.state === "open") this.#events.failed(error);
    else this.#events.lost(error);
  }

  #end(error: WsError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.refused(error);
  }

  #read(): void {
    clearTimeout(this.#timer);
    if (this.#isReading) {
      this.#isBehind = true;
      return;
    }
    this.#isReading = true;
    this.#isBehind = false;
    this.#transfer()
      .then(
        () => this.#readAgainIn(this.#isBehind ? 0 : CONFIRM_MS),
        (error: unknown) => this.#readFailed(error),
      )
      .finally(() => {
        this.#isReading = false;
      });
  }

  #readFailed(thrown: unknown): void {
    if (this.#isClosed || this.#client.state !== "open") return;
    // Whatever is wrong with the set, the next read starts from nothing.
    const isInvalid = !WsError.isWsError(thrown);
    if (isInvalid) this.#set = undefined;
    const error = isInvalid
      ? new WsError(
          "INTERNAL",
          `The server sent flag definitions that cannot be used. ${messageOf(thrown)}`,
          undefined,
          { cause: thrown },
        )
      : thrown;
    this.#events.failed(error);
    this.#readAgainIn(Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** this.#failures++));
  }

  #readAgainIn(ms: number): void {
    if (this.#isClosed || this.#client.state !== "open") return;
    this.#timer = setTimeout(() => this.#read(), ms);
  }

  async #transfer(): Promise<void> {
    const { environment, maxBytes } = this.#options;
    const base = this.#set;
    const request = {
      ...(base !== undefined && { position: base.position }),
      ...(environment !== undefined && { environment }),
    };
    const read = async (page: number) =>
      (await this.#client.request(GetDefinitions, { page, ...request }, { timeoutMs: REQUEST_TIMEOUT_MS }))
        .payload;
    let answer = await read(0);
    const { position, isWhole, terms, stale } = answer;
    if (
      position === base?.position &&
      answer.records.length === 0 &&
      !answer.hasMore &&
      sameTerms(terms, base.terms)
    ) {
      this.#failures = 0;
      this.#events.received(base, [], stale);
      return;
    }
    const builder = new SetBuilder(isWhole ? undefined : base, maxBytes);
    for (let page = 1; ; page++) {
      for (const record of answer.records) builder.add(record);
      if (!answer.hasMore) break;
      answer = await read(page);
    }
    const set = await builder.finish(position, terms);
    if (this.#isClosed) return;
    this.#set = set;
    this.#failures = 0;
    this.#events.received(set, isWhole ? undefined : builder.changedKeys, stale);
  }
}

function sameTerms(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function lossOf(info: StateInfo | undefined): WsError {
  return new WsError("UNAVAILABLE", "The connection to the server of the flags was lost.", { ...info });
}

function refusalOf(error: WsError | undefined, info: StateInfo | undefined): WsError {
  // The application has limited the attempts.
  if (error !== undefined && error.code !== "UNAUTHENTICATED" && error.code !== "PERMISSION_DENIED")
    return error;
  const { url = "the url", reason = "" } = info ?? {};
  const why = reason === "" ? "It gave no reason." : reason;
  return new WsError(
    error?.code ?? "UNAUTHENTICATED",
    `The server at ${url} refused the API key. ${why} No further attempt is made; start again with a key that is valid.`,
    error?.details,
    { cause: error },
  );
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : "";
}
