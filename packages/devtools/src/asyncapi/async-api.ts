/** Writes the AsyncAPI document of a router. The document describes the server: it receives what clients send. */
import type {
  AnyChannel,
  AnyMessageSchema,
  ConnectionData,
  DurableConfig,
  Router,
  StandardSchema,
} from "@halyard/wire";
import { isMessageSchema, notASchema } from "@halyard/wire/unstable-devtools";
import type {
  AsyncApiChannel,
  AsyncApiDocument,
  AsyncApiInfo,
  AsyncApiOperation,
  AsyncApiParameter,
  AsyncApiServer,
  Reference,
} from "./document.ts";
import { type JsonSchema, loadConverter } from "./json-schema.ts";
import { Messages } from "./messages.ts";
import { toKey } from "./schema-components.ts";

/** A topic that handlers subscribe connections to with `ctx.subscribe()`. */
export interface AsyncApiTopic {
  /** The name, with changing parts in braces, such as `prices:{symbol}`. */
  readonly address: string;
  /** The messages that are published on it. */
  readonly messages: readonly AnyMessageSchema[];
  /** In Markdown. */
  readonly description?: string;
}

/** The options of `asyncApi()`. */
export interface AsyncApiOptions extends AsyncApiInfo {
  /** Where the server listens, by name. Default: none. */
  readonly servers?: Readonly<Record<string, AsyncApiServer>>;
  /** Topics that are not channels: a router does not know which messages are published on them. Default: none. */
  readonly topics?: readonly AsyncApiTopic[];
  /** Messages that handlers send with `ctx.send()`, and requests to the client with `ctx.ws.request()`. Default: none. */
  readonly sends?: readonly AnyMessageSchema[];
}

/** The key of the channel for frames between the server and one client. */
const CONNECTION = "connection";

/**
 * Describes a router as an AsyncAPI 3.0 document: its messages, requests with their responses, progress and errors, and
 * its channels. Rejects when a schema cannot be described.
 *
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { asyncApi } from "@halyard/devtools/asyncapi";
 * import { createRouter, message, z } from "@halyard/wire/zod";
 *
 * const Said = message("SAID", { text: z.string() });
 * const router = createRouter().on(Said, () => {});
 *
 * const document = await asyncApi(router, { title: "Chat", version: "1.0.0" });
 * await writeFile("asyncapi.json", JSON.stringify(document, null, 2));
 * ```
 */
export async function asyncApi<Data extends ConnectionData>(
  router: Pick<Router<Data>, "declarations">,
  options: AsyncApiOptions,
): Promise<AsyncApiDocument> {
  const { title, version, description, servers, topics = [], sends = [] } = checkOptions(options);
  const declarations = router.declarations();
  const schemas = [
    ...[...declarations.messages, ...sends, ...topics.flatMap(({ messages }) => messages)].flatMap(partsOf),
    ...declarations.channels.flatMap(partsOfChannel),
  ];
  const messages = new Messages(await loadConverter(schemas));
  const parts = new Parts(messages);
  for (const schema of declarations.messages) parts.receive(schema);
  for (const schema of sends) parts.send(schema);
  for (const channel of declarations.channels) parts.addChannel(channel);
  for (const topic of topics) parts.addTopic(topic);
  return {
    asyncapi: "3.0.0",
    info: { title, version, ...(description !== undefined && { description }) },
    defaultContentType: "application/json",
    ...(servers !== undefined && { servers }),
    channels: parts.channels,
    operations: parts.operations,
    components: { messages: messages.components, schemas: messages.schemas },
  };
}

/** JavaScript callers may leave out what the types require. */
function checkOptions(options: AsyncApiOptions): AsyncApiOptions {
  for (const name of ["title", "version"] as const) {
    if (typeof options?.[name] === "string" && options[name] !== "") continue;
    throw new TypeError(`asyncApi() needs the option ${name}: a text that is not empty.`);
  }
  for (const schema of [
    ...(options.sends ?? []),
    ...(options.topics ?? []).flatMap((topic) => topic.messages),
  ])
    if (!isMessageSchema(schema)) throw new TypeError(notASchema("asyncApi()", schema));
  return options;
}

function partsOf(schema: AnyMessageSchema): StandardSchema[] {
  const errors = Object.values(schema.errors ?? {}).map(({ data }) => data);
  const own = [schema.payload, schema.meta, schema.progress, ...errors].filter((part) => part !== undefined);
  return schema.response === undefined ? own : [...own, ...partsOf(schema.response)];
}

function partsOfChannel({ params, presence, events }: AnyChannel): StandardSchema[] {
  return [params, presence].filter((part) => part !== undefined).concat(events.flatMap(partsOf));
}

class Parts {
  readonly channels: Record<string, AsyncApiChannel> = {};
  readonly operations: Record<string, AsyncApiOperation> = {};
  readonly #messages: Messages;
  readonly #onConnection: Record<string, Reference> = {};

  constructor(messages: Messages) {
    this.#messages = messages;
    this.channels[CONNECTION] = {
      address: null,
      description: "The frames between the server and one client.",
      messages: this.#onConnection,
    };
  }

  receive(schema: AnyMessageSchema): void {
    const { type, response, durable } = schema;
    if (response === undefined) return this.#add("receive", this.#messages.add(schema, "event"));
    const key = this.#messages.add(schema, "request");
    const reply = [
      this.#messages.add(response, "response"),
      this.#messages.progress(type, schema.progress),
      this.#messages.error(schema),
    ];
    this.#add("receive", key, reply, durable);
  }

  send(schema: AnyMessageSchema): void {
    if (schema.response === undefined) return this.#add("send", this.#messages.add(schema, "event"));
    const key = this.#messages.add(schema, "ask");
    this.#add("send", key, [this.#messages.add(schema.response, "answer")]);
  }

  addChannel({ pattern, params, paramNames, events, presence, history }: AnyChannel): void {
    const place = (schema: StandardSchema, what: string): JsonSchema =>
      this.#messages.describe(schema, `The ${what} of channel "${pattern}"`, toKey(`${pattern}.${what}`));
    const described = params && place(params, "params");
    this.#publish(pattern, events, {
      description: "Clients join it with `$ws:join`.",
      ...(paramNames.length > 0 && { parameters: parametersOf(paramNames, described) }),
      ...(described && { "x-halyard-params": described }),
      ...(presence && { "x-halyard-presence": place(presence, "presence") }),
      ...(history && { "x-halyard-history": { ...history } }),
    });
  }

  addTopic({ address, messages, description }: AsyncApiTopic): void {
    const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    this.#publish(address, messages, {
      ...(description !== undefined && { description }),
      ...(names.length > 0 && { parameters: parametersOf(names, undefined) }),
    });
  }

  #publish(
    address: string,
    events: readonly AnyMessageSchema[],
    rest: Omit<AsyncApiChannel, "address" | "messages">,
  ): void {
    const key = toKey(address);
    if (this.channels[key] !== undefined)
      throw new TypeError(
        `Two channels or topics have the key "${key}" in the document, the last one is "${address}". Rename one of them.`,
      );
    const keys = events.map((event) => this.#messages.add(event, "event"));
    const messages = Object.fromEntries(keys.map((name) => [name, component(name)]));
    this.channels[key] = { address, ...rest, messages };
    this.operations[`send.${key}`] = {
      action: "send",
      channel: { $ref: `#/channels/${key}` },
      messages: keys.map((name) => inChannel(key, name)),
    };
  }

  /** `reply`: the keys of the frames that answer the message. */
  #add(action: "receive" | "send", key: string, reply?: readonly string[], durable?: DurableConfig): void {
    for (const each of [key, ...(reply ?? [])]) this.#onConnection[each] = component(each);
    const channel = { $ref: `#/channels/${CONNECTION}` };
    const refs = (keys: readonly string[]): Reference[] => keys.map((each) => inChannel(CONNECTION, each));
    this.operations[`${action}.${key}`] = {
      action,
      channel,
      messages: refs([key]),
      ...(reply && { reply: { channel, messages: refs(reply) } }),
      ...(durable && { "x-halyard-durable": { keepMs: durable.keepMs } }),
    };
  }
}

function component(key: string): Reference {
  return { $ref: `#/components/messages/${key}` };
}

function inChannel(channel: string, key: string): Reference {
  return { $ref: `#/channels/${channel}/messages/${key}` };
}

function parametersOf(
  names: readonly string[],
  params: JsonSchema | undefined,
): Record<string, AsyncApiParameter> {
  const properties = (params?.["properties"] ?? {}) as Record<string, JsonSchema>;
  return Object.fromEntries(
    names.map((name) => {
      const { description, enum: values } = properties[name] ?? {};
      return [
        name,
        {
          ...(typeof description === "string" && { description }),
          ...(Array.isArray(values) && { enum: values.map(String) }),
        },
      ];
    }),
  );
}
