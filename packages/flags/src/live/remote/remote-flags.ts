/** Flags in a server process without the database: definitions from the server, evaluated here. */
import type { WsError } from "@halyard/wire";
import type { ClientOptions } from "@halyard/wire/client";
import type { JsonValue } from "../../engine/json.ts";
import type {
  BooleanFlagKey,
  FlagDeclarations,
  FlagKey,
  FlagValue,
  ReadValue,
  VariantKey,
} from "../../model/declared.ts";
import type { ClaimedContext, EvaluationFields } from "../../model/evaluation.ts";

/** The options of `createRemoteFlags`. */
export type RemoteFlagsOptions<Flags extends FlagDeclarations = FlagDeclarations> = {
  /** Where `flagDefinitions` is served, such as `wss://app.example.com/flag-definitions`. */
  url: string | URL;
  /** An API key that grants `featureFlag: ["read", "evaluate-as"]`. */
  key: string;
  /** The environment to evaluate in. Default: the server's. */
  environment?: string | undefined;
  /** With `multiTenant`: an organization of the key's owner. Default: the organization that owns the key. */
  organizationId?: string | undefined;
  /** A file that keeps the last definitions for a start while the server cannot be reached. Default: none. */
  file?: string | undefined;
  /** The flags declared with `defineFlags`, for types and defaults. */
  flags?: Flags | undefined;
  /** How long `ready` waits for definitions, in ms; it then rejects. Default 10,000. */
  readyTimeoutMs?: number | undefined;
  /** The most bytes that all definitions may have, in memory and in the file. Default 64 MiB. */
  maxBytes?: number | undefined;
  /** How the connection is made again after a loss; as in `wsClient`. */
  reconnect?: ClientOptions["reconnect"] | undefined;
  /** Creates the socket; for tests and runtimes without a global WebSocket. */
  wsFactory?: ClientOptions["wsFactory"] | undefined;
};

/**
 * `connecting`: there are no definitions yet, and reads return defaults. `live`: the definitions are current. `stale`:
 * newer ones may exist, because the server or its database cannot be reached. `closed`: after `close()`, or after the
 * server refused the key; reads still use the last definitions.
 */
export type RemoteFlagsState = "connecting" | "live" | "stale" | "closed";

/** The context that a flag is evaluated for. */
export type RemoteReadOptions = {
  /** The user and the attributes. Every field is used as given. */
  context?: ClaimedContext | undefined;
};

/** The result of `evaluate`. */
export type RemoteEvaluation = Omit<EvaluationFields<JsonValue>, "metadata">;

/** Reads are synchronous, never throw, and make no request. */
export interface RemoteFlags<Flags extends FlagDeclarations = FlagDeclarations> {
  /**
   * Resolves when there are definitions, from the server or from the file. Rejects with a `WsError` if the server refuses
   * the key, or if there are none in time; it still tries to connect then.
   */
  readonly ready: Promise<void>;
  /** Whether the definitions are current. */
  readonly state: RemoteFlagsState;
  /** How long ago the server last confirmed the definitions, in ms: 0 while `live`, undefined without definitions. */
  readonly staleMs: number | undefined;
  /** Why the state is `closed` or `stale`, if there is a reason. */
  readonly error: WsError | undefined;
  /** Whether a boolean flag is on. Default for a flag that does not exist: the declared one, else `false`. */
  isEnabled(key: BooleanFlagKey<Flags>, options?: RemoteReadOptions, defaultValue?: boolean): boolean;
  /** The flag's value. The default applies if the flag does not exist or its value is not as declared. */
  getValue<Key extends FlagKey<Flags>>(key: Key, options?: RemoteReadOptions): ReadValue<Flags, Key>;
  getValue<Key extends FlagKey<Flags>>(
    key: Key,
    options: RemoteReadOptions,
    defaultValue: FlagValue<Flags, Key>,
  ): FlagValue<Flags, Key>;
  /** The key of the variant, or null if the flag has none. */
  getVariant<Key extends FlagKey<Flags>>(
    key: Key,
    options?: RemoteReadOptions,
  ): VariantKey<Flags, Key> | null;
  /** Value, variant and reason. `null` with the reason `not_found` if the flag does not exist. Throws if the context is of another organization. */
  evaluate(key: string, options?: RemoteReadOptions): RemoteEvaluation;
  /** Calls back with the keys of the flags that may answer differently. Returns a function that stops it. */
  onChange(callback: (change: RemoteFlagsChange) => void): () => void;
  /** Calls back when the state changes. Returns a function that stops it. */
  onState(callback: (state: RemoteFlagsState) => void): () => void;
  /** Calls back with every failure: a lost connection, a file that was refused. Without a callback they are logged. Returns a function that stops it. */
  onError(callback: (error: WsError) => void): () => void;
  /** Closes the connection, and resolves when the file is written. */
  close(): Promise<void>;
}

/** What `onChange` tells. */
export interface RemoteFlagsChange {
  /** Keys of flags that were added, changed or removed. After a long absence: of all flags. */
  readonly keys: readonly string[];
}
