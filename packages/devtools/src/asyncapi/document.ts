/** The parts of an AsyncAPI 3.0 document that `asyncApi()` writes. */
import type { JsonSchema } from "./json-schema.ts";

/** A reference to another part of the document. */
export interface Reference {
  /** A JSON pointer that begins at the root. */
  readonly $ref: string;
}

/** An AsyncAPI 3.0 document, as JSON. It describes the server. */
export interface AsyncApiDocument {
  /** The version of AsyncAPI. */
  readonly asyncapi: "3.0.0";
  /** What the document describes. */
  readonly info: AsyncApiInfo;
  /** All frames are JSON text. */
  readonly defaultContentType: "application/json";
  /** Where the server listens, by name. */
  readonly servers?: Readonly<Record<string, AsyncApiServer>>;
  /** The connection itself, and the topics that connections subscribe to or join. */
  readonly channels: Readonly<Record<string, AsyncApiChannel>>;
  /** What the server receives and sends. */
  readonly operations: Readonly<Record<string, AsyncApiOperation>>;
  /** Messages and schemas that other parts refer to. */
  readonly components: {
    /** By key: the message type, with `_` for characters that AsyncAPI does not allow. */
    readonly messages: Readonly<Record<string, AsyncApiMessage>>;
    /** Schemas that refer to themselves. */
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

/** What the document describes. */
export interface AsyncApiInfo {
  /** The name of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** In Markdown. */
  readonly description?: string;
}

/** A server of the application. */
export interface AsyncApiServer {
  /** With the port, if it is not the default one. */
  readonly host: string;
  /** `wss` for TLS. */
  readonly protocol: "ws" | "wss";
  /** The path of the WebSocket. */
  readonly pathname?: string;
  /** In Markdown. */
  readonly description?: string;
}

/** The connection, a topic or a channel of wire. */
export interface AsyncApiChannel {
  /** The name of the topic with its parameters in braces; null for the connection. */
  readonly address: string | null;
  /** In Markdown. */
  readonly description?: string;
  /** The messages on it. */
  readonly messages: Readonly<Record<string, Reference>>;
  /** The parameters in the address. */
  readonly parameters?: Readonly<Record<string, AsyncApiParameter>>;
  /** Of a channel of wire: the schema of the parameters. */
  readonly "x-halyard-params"?: JsonSchema;
  /** Of a channel of wire: what a member shows of itself. */
  readonly "x-halyard-presence"?: JsonSchema;
  /** Of a channel of wire: how many messages are kept, and how long in ms. */
  readonly "x-halyard-history"?: { readonly size: number; readonly ttlMs: number };
}

/** A parameter of an address. */
export interface AsyncApiParameter {
  /** From the description of its schema. */
  readonly description?: string;
  /** Set when its schema allows only these values. */
  readonly enum?: readonly string[];
}

/** What the server receives or sends. */
export interface AsyncApiOperation {
  /** `receive`: from a client. `send`: to clients. */
  readonly action: "receive" | "send";
  /** Where. */
  readonly channel: Reference;
  /** In Markdown. */
  readonly summary?: string;
  /** The messages. */
  readonly messages: readonly Reference[];
  /** The frames that answer a request: progress, and exactly one response or error. */
  readonly reply?: { readonly channel: Reference; readonly messages: readonly Reference[] };
  /** Of a durable request: how long its items and its end are kept, in ms. */
  readonly "x-halyard-durable"?: { readonly keepMs: number };
}

/** A frame. */
export interface AsyncApiMessage {
  /** The message type. */
  readonly name: string;
  /** In Markdown. */
  readonly summary?: string;
  /** The schema of the whole frame. */
  readonly payload: JsonSchema;
  /** Where the id is that connects a request with its response. */
  readonly correlationId?: { readonly location: string };
}
