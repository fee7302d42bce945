/** What admin requests carry beside their fields: the id of the entity, and the version the caller has seen. */
import { headersOf } from "@halyard/sessions/plugin";
import * as z from "zod";
import { isPlainObject } from "../../engine/json.ts";
import { invalid, line, parse } from "../../model/inputs.ts";
import type { HostRequest } from "./host-request.ts";

/** A parameter of the path. Better Auth's router leaves it percent-encoded. */
export function pathId({ params, request }: HostRequest, name: string): string {
  const raw: unknown = params?.[name];
  if (typeof raw !== "string") throw invalid([{ path: name, message: "is required" }]);
  // A parameter that server code passes was never part of a URL.
  return request === undefined ? raw : decoded(raw);
}

/** The id of an entity: in the path over HTTP; in `params` or in the body where server code calls. */
export function entityId(request: HostRequest, name: string): string {
  const isInBody = request.request === undefined && request.params?.[name] === undefined;
  return isInBody ? bodyId(request, name) : pathId(request, name);
}

/**
 * The body without `names`: the ids of the path, which it may repeat, and what only server code may send in it. Throws on
 * an id that differs from the path.
 */
export function entityFields(request: HostRequest, body: unknown, ...names: readonly string[]): unknown {
  const inPath = names.filter((name) => request.params?.[name] !== undefined);
  const other = inPath.find((name) => {
    const given: unknown = isPlainObject(body) ? body[name] : undefined;
    return given !== undefined && given !== pathId(request, name);
  });
  if (other !== undefined) {
    throw invalid([{ path: other, message: "differs from the id in the path; leave it out of the body" }]);
  }
  return withoutFields(body, ...(request.request === undefined ? names : inPath));
}

/** The version that the caller has seen: `If-Match` over HTTP, `version` in the body where server code calls. */
export function expectedVersion(request: HostRequest): number | undefined {
  const given = request.request === undefined ? bodyVersion(request) : undefined;
  return given ?? headerVersion(request);
}

/** Why the caller makes a change: the query `note`. An empty one counts as none. */
export function noteOf({ query }: HostRequest): string | undefined {
  return parse(noteQuery, query ?? {}).note || undefined;
}

const noteQuery = z.object({ note: line.optional() });

/** An id in the body. */
export function bodyId({ body }: HostRequest, name: string): string {
  const id: unknown = isPlainObject(body) ? body[name] : undefined;
  if (typeof id !== "string") throw invalid([{ path: name, message: "is required, and is text" }]);
  return id;
}

/** The body without the named fields. */
export function withoutFields(body: unknown, ...names: readonly string[]): unknown {
  if (!isPlainObject(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** The version in `If-Match`: `"3"`, `3`, or `*` for any. */
function headerVersion(request: HostRequest): number | undefined {
  const given = headersOf(request).get("if-match")?.trim();
  if (given === undefined || given === "*") return undefined;
  const digits = /^(?:"(\d{1,15})"|(\d{1,15}))$/.exec(given);
  if (digits === null) throw invalid([{ path: "If-Match", message: 'must be a version such as "3", or *' }]);
  return Number(digits[1] ?? digits[2]);
}

/** The version in the body of a server method. */
function bodyVersion({ body }: HostRequest): number | undefined {
  const given: unknown = isPlainObject(body) ? body["version"] : undefined;
  if (given === undefined || (typeof given === "number" && Number.isSafeInteger(given) && given >= 1))
    return given;
  throw invalid([{ path: "version", message: "must be a whole number from 1" }]);
}

/** The entity, with its version as `etag` of the response. */
export function versioned<Result extends { readonly version: number }>(
  request: HostRequest,
  entity: Result,
): Result {
  request.setHeader("etag", `"${entity.version}"`);
  return entity;
}

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
