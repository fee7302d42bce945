/** What the inspector keeps of a payload: by default its declared fields with types and sizes, and no values. */
import type { AnyMessageSchema, Declarations, StandardSchema } from "@halyard/wire";
import { isReservedType } from "@halyard/wire/unstable-devtools";

/** The longest text that is kept of a payload. */
const MAX_TEXT_LENGTH = 2_000;
/** Masked also where payloads are shown. */
const SECRET_KEY = /passw(or)?d|secret|token|authorization|cookie|api_?key|credential|private/i;

/** A value without its content: its type, and its size. */
function outline(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `array(${value.length})`;
  if (typeof value === "object") return `object(${Object.keys(value).length})`;
  return typeof value === "string" ? `string(${value.length})` : typeof value;
}

/** The keys of an object may be data, such as the ids of users: only those in `declared` are kept. */
export function redact(payload: unknown, declared: (key: string) => boolean): string {
  if (payload === undefined) return "";
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return outline(payload);
  const entries = Object.entries(payload);
  const known = entries.filter(([key]) => declared(key));
  const parts = known.map(([key, value]) => `${key}: ${outline(value)}`);
  if (known.length < entries.length) parts.push(`${entries.length - known.length} more`);
  return parts.length === 0 ? "{}" : shorten(`{ ${parts.join(", ")} }`);
}

/** The payload as JSON, without the values of keys that look like secrets. */
export function show(payload: unknown): string {
  if (payload === undefined) return "";
  return shorten(
    JSON.stringify(payload, (key, value: unknown) => (SECRET_KEY.test(key) ? outline(value) : value)),
  );
}

function shorten(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH)}…`;
}

/** Which fields the messages of a router declare. */
export class DeclaredFields {
  readonly #declarations: () => Declarations;
  #byType: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  /** How many messages and channels were registered when `#byType` was made. */
  #size = -1;

  constructor(declarations: () => Declarations) {
    this.#declarations = declarations;
  }

  /** Whether the key of a payload is part of the program, and so no data. */
  of(type: string): (key: string) => boolean {
    // The payloads of the protocol have fixed keys.
    if (isReservedType(type)) return () => true;
    const fields = this.#byType.get(type) ?? this.#read().get(type);
    return (key) => fields?.has(key) ?? false;
  }

  #read(): ReadonlyMap<string, ReadonlySet<string>> {
    const { messages, channels } = this.#declarations();
    const size = messages.length + channels.length;
    if (size === this.#size) return this.#byType;
    this.#size = size;
    const byType = new Map<string, ReadonlySet<string>>();
    const add = (schema: AnyMessageSchema): void => {
      byType.set(schema.type, new Set(keysOf(schema.payload)));
      if (schema.response !== undefined) add(schema.response);
    };
    for (const schema of [...messages, ...channels.flatMap(({ events }) => events)]) add(schema);
    this.#byType = byType;
    return byType;
  }
}

/** The schemas of Zod have `shape`, those of Valibot `entries`. */
function keysOf(schema: StandardSchema | undefined): readonly string[] {
  const { shape, entries } = (schema ?? {}) as { readonly shape?: object; readonly entries?: object };
  return Object.keys(shape ?? entries ?? {});
}
