/** The messages of one document: each schema of a message once, under a key that AsyncAPI allows. */
import type { AnyErrors, AnyMessageSchema, StandardSchema } from "@halyard/wire";
import { CONTROL } from "@halyard/wire/unstable-devtools";
import type { AsyncApiMessage } from "./document.ts";
import {
  CORRELATION,
  describeAnswer,
  describeAsk,
  describeError,
  describeFrame,
  ERROR_PAYLOAD,
} from "./frames.ts";
import type { Convert, JsonSchema } from "./json-schema.ts";
import { SchemaComponents, toKey } from "./schema-components.ts";

type Role = "event" | "request" | "response" | "ask" | "answer";

/** What the summary of a message says about its role. */
const SUMMARIES: Partial<Record<Role, (type: string) => string>> = {
  ask: (type) => `The server's request ${type} to the client.`,
  answer: (type) => `The client's answer ${type} to a request of the server, or the code of an error.`,
};

export class Messages {
  readonly components: Record<string, AsyncApiMessage> = {};
  readonly #convert: Convert;
  readonly #schemas = new SchemaComponents();
  /** One schema may have several roles, in which its frames differ. */
  readonly #keys = new Map<AnyMessageSchema, Map<Role, string>>();

  constructor(convert: Convert) {
    this.#convert = convert;
  }

  get schemas(): Readonly<Record<string, JsonSchema>> {
    return this.#schemas.schemas;
  }

  describe(schema: StandardSchema, where: string, name: string): JsonSchema {
    return this.#schemas.place(this.#convert(schema, where), name);
  }

  progress(type: string, schema: StandardSchema | undefined): string {
    const key = this.#freeKey(`${type}.progress`);
    const payload =
      schema === undefined
        ? { description: "Any JSON." }
        : this.describe(schema, `The progress of ${type}`, `${key}.payload`);
    this.components[key] = {
      name: CONTROL.progress,
      summary: `Progress of a request ${type}.`,
      payload: describeFrame(CONTROL.progress, { payload, isCorrelated: true }),
      correlationId: CORRELATION,
    };
    return key;
  }

  /** The error frame of a request. Requests without declared errors share one. */
  error({ type, errors }: AnyMessageSchema): string {
    const key = errors === undefined ? toKey(CONTROL.error) : this.#freeKey(`${type}.error`);
    this.components[key] ??= {
      name: CONTROL.error,
      summary:
        errors === undefined ? "Ends a request with an error." : `Ends a request ${type} with an error.`,
      payload: describeFrame(CONTROL.error, { payload: this.#errors(key, type, errors), isCorrelated: true }),
      correlationId: CORRELATION,
    };
    return key;
  }

  #errors(key: string, type: string, errors: AnyErrors = {}): JsonSchema {
    const declared = Object.entries(errors).map(([name, { code, data }]) =>
      describeError(
        name,
        code,
        data && this.describe(data, `The error ${name} of ${type}`, `${key}.${name}`),
      ),
    );
    return declared.length === 0 ? ERROR_PAYLOAD : { anyOf: [...declared, ERROR_PAYLOAD] };
  }

  /** Adds the message unless it has this role already. Returns its key. */
  add(schema: AnyMessageSchema, role: Role): string {
    const roles = this.#keys.get(schema) ?? new Map<Role, string>();
    this.#keys.set(schema, roles);
    const known = roles.get(role);
    if (known !== undefined) return known;
    const { type } = schema;
    const key = this.#freeKey(role === "ask" || role === "answer" ? `${type}.${role}` : type);
    roles.set(role, key);
    const summary = SUMMARIES[role]?.(type);
    this.components[key] = {
      name: type,
      ...(summary !== undefined && { summary }),
      payload: this.#frame(schema, role, key),
      ...(role !== "event" && { correlationId: CORRELATION }),
    };
    return key;
  }

  #frame(schema: AnyMessageSchema, role: Role, key: string): JsonSchema {
    const { type } = schema;
    const payload =
      schema.payload && this.describe(schema.payload, `The payload of ${type}`, `${key}.payload`);
    if (role === "ask") return describeAsk(type, payload);
    if (role === "answer") return describeAnswer(type, payload);
    const meta = schema.meta && this.describe(schema.meta, `The meta of ${type}`, `${key}.meta`);
    return describeFrame(type, { payload, meta, isCorrelated: role !== "event" });
  }

  /** Two message types may differ only in characters that AsyncAPI does not allow. */
  #freeKey(name: string): string {
    const key = toKey(name);
    for (let count = 1; ; count++) {
      const candidate = count === 1 ? key : `${key}_${count}`;
      if (this.components[candidate] === undefined) return candidate;
    }
  }
}
