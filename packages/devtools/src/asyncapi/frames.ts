/** The schemas of frames: `{ type, meta, payload }` around the payload of a message. */
import { ERROR_CODES } from "@halyard/wire";
import { CONTROL } from "@halyard/wire/unstable-devtools";
import type { JsonSchema } from "./json-schema.ts";

/** What a frame has beside its type. */
export interface FrameParts {
  /** Undefined: the frame has none. */
  readonly payload: JsonSchema | undefined;
  /** The declared meta of the application. */
  readonly meta?: JsonSchema | undefined;
  /** Whether the frame belongs to a request. */
  readonly isCorrelated: boolean;
}

const META = {
  timestamp: { type: "number", description: "The sender's time in ms since epoch, for display." },
  correlationId: {
    type: "string",
    minLength: 1,
    maxLength: 128,
    description: "Connects a request with its response.",
  },
  timeoutMs: { type: "number", description: "How long the caller waits, in ms." },
};

export const CORRELATION = { location: "$message.payload#/meta/correlationId" };

export function describeFrame(type: string, { payload, meta, isCorrelated }: FrameParts): JsonSchema {
  const needsMeta = isCorrelated || (meta !== undefined && requiredOf(meta).length > 0);
  return {
    type: "object",
    properties: {
      type: { const: type },
      meta: describeMeta(meta, isCorrelated),
      ...(payload !== undefined && { payload }),
    },
    required: ["type", ...(needsMeta ? ["meta"] : []), ...(payload !== undefined ? ["payload"] : [])],
    additionalProperties: false,
  };
}

/** Keys that begin with `$` belong to the protocol; receivers ignore those they do not know. */
function describeMeta(declared: JsonSchema | undefined, isCorrelated: boolean): JsonSchema {
  const isReference = declared !== undefined && "$ref" in declared;
  const own = {
    type: "object",
    properties: { ...META, ...(isReference ? {} : (declared?.["properties"] as object | undefined)) },
    patternProperties: { "^\\$": {} },
    ...required([...(isCorrelated ? ["correlationId"] : []), ...requiredOf(declared)]),
  };
  return isReference ? { allOf: [declared], ...own } : { ...own, additionalProperties: false };
}

function requiredOf(schema: JsonSchema | undefined): readonly string[] {
  return (schema?.["required"] ?? []) as readonly string[];
}

function required(keys: readonly string[]): object {
  return keys.length === 0 ? {} : { required: keys };
}

/** The payload of an error frame. Applications may add codes of their own. */
export const ERROR_PAYLOAD: JsonSchema = {
  type: "object",
  properties: {
    code: {
      type: "string",
      description: `A code of the application, or one of ${Object.keys(ERROR_CODES).join(", ")}.`,
      examples: Object.keys(ERROR_CODES),
    },
    message: { type: "string", description: "For people." },
    details: { type: "object", description: "At most 4 KiB of JSON." },
    retryable: { type: "boolean", description: "Whether a retry may succeed. Default: depends on the code." },
    retryAfterMs: { type: "number", description: "How long to wait before a retry, in ms." },
  },
  required: ["code"],
};

/** The payload of an error frame with a declared error. */
export function describeError(name: string, code: string, data: JsonSchema | undefined): JsonSchema {
  const details = {
    type: "object",
    properties: { reason: { const: name }, ...(data && { data }) },
    required: ["reason", ...(data ? ["data"] : [])],
  };
  const properties = { ...(ERROR_PAYLOAD["properties"] as object), code: { const: code }, details };
  return { type: "object", title: name, properties, required: ["code", "details"] };
}

/** A request of the server, and the answer of the client, in the frames that carry them. */
export function describeAsk(type: string, payload: JsonSchema | undefined): JsonSchema {
  return describeFrame(CONTROL.ask, { payload: describeInner(type, payload), isCorrelated: true });
}

export function describeAnswer(type: string, payload: JsonSchema | undefined): JsonSchema {
  const refusal = { type: "object", properties: { code: { type: "string" } }, required: ["code"] };
  const answer = { oneOf: [describeInner(type, payload), refusal] };
  return describeFrame(CONTROL.answer, { payload: answer, isCorrelated: true });
}

function describeInner(type: string, payload: JsonSchema | undefined): JsonSchema {
  return {
    type: "object",
    properties: { type: { const: type }, ...(payload !== undefined && { payload }) },
    required: ["type", ...(payload !== undefined ? ["payload"] : [])],
    additionalProperties: false,
  };
}
