/** What admin requests say beside their fields: whom they are about, and which version they know. */
import { isPlainObject } from "../engine/json.ts";
import { invalid } from "../model/inputs.ts";
import { type Call, headersOf } from "./call.ts";

/** A part of the path, which the router leaves as it was encoded. */
export function pathId(call: Call, name: string): string {
  const raw: unknown = call.params?.[name];
  if (typeof raw !== "string") throw invalid([{ path: name, message: "is required" }]);
  // What server code passes as a parameter was never part of a URL.
  return call.request === undefined ? raw : decoded(raw);
}

/** An id in the body. */
export function bodyId(call: Call, name: string): string {
  const id: unknown = isPlainObject(call.body) ? call.body[name] : undefined;
  if (typeof id !== "string") throw invalid([{ path: name, message: "is required, and is text" }]);
  return id;
}

/** The body without the fields that are not the entity's. */
export function bodyWithout(call: Call, ...names: readonly string[]): unknown {
  if (!isPlainObject(call.body)) return call.body;
  return Object.fromEntries(Object.entries(call.body).filter(([name]) => !names.includes(name)));
}

/** The version the caller has seen, by `If-Match`: `"3"`, `3`, or `*` for any. */
export function headerVersion(call: Call): number | undefined {
  const given = headersOf(call).get("if-match")?.trim();
  if (given === undefined || given === "*") return undefined;
  const digits = /^(?:"(\d{1,15})"|(\d{1,15}))$/.exec(given);
  if (digits === null) throw invalid([{ path: "If-Match", message: 'must be a version such as "3", or *' }]);
  return Number(digits[1] ?? digits[2]);
}

/** The version the caller has seen, in the body of a server method. */
export function bodyVersion(call: Call): number | undefined {
  const given: unknown = isPlainObject(call.body) ? call.body["version"] : undefined;
  if (given === undefined || (typeof given === "number" && Number.isSafeInteger(given) && given >= 1))
    return given;
  throw invalid([{ path: "version", message: "must be a whole number from 1" }]);
}

/** The answer for an entity that counts its changes. */
export function versioned<Result extends { readonly version: number }>(call: Call, entity: Result): Result {
  call.setHeader("etag", `"${entity.version}"`);
  return entity;
}

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
