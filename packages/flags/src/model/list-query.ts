/** The queries of lists: strings from a URL, or values from server code, read alike. */

import type { FlagType } from "../engine/definition.ts";
import { FLAG_TYPES } from "./flag.ts";
import { invalid, isWellFormed, MAX_LINE, NOT_TIME, utcTime } from "./inputs.ts";
import {
  type AuditQuery,
  DEFAULT_PAGE_LIMIT,
  type FlagListQuery,
  type FlagSort,
  MAX_PAGE_LIMIT,
  type OverrideListQuery,
  type OverrideSort,
  type PageQuery,
  type SegmentListQuery,
} from "./page.ts";

type SortInput<Sort extends string> = Sort | `-${Sort}`;

type PageInput<Sort extends string> = {
  /** Where `multiTenant` is on: the organization whose entries are wanted. */
  organizationId?: string | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
  /** From 1 to 200, 50 when absent; a number beyond is brought inside. */
  limit?: number | undefined;
  /** A field, with `-` before it for descending; `createdAt` when absent. */
  sort?: SortInput<Sort> | undefined;
};

/** What a list of flags can be asked for. */
export type ListFeatureFlagsQuery = PageInput<FlagSort> & {
  /** A part of key, name or description, in any case. */
  q?: string | undefined;
  type?: FlagType | undefined;
  enabled?: boolean | undefined;
  /** The beginning of the key. */
  prefix?: string | undefined;
  /** Adds to each flag how often it was evaluated in the last 24 hours, and for how many users. */
  include?: "stats" | undefined;
};

/** What a list of overrides can be asked for. */
export type ListFeatureFlagOverridesQuery = PageInput<OverrideSort> & {
  flagId?: string | undefined;
  userId?: string | undefined;
  /** A part of the user's id or the reason, in any case. */
  q?: string | undefined;
};

/** What a list of segments can be asked for. */
export type ListFeatureFlagSegmentsQuery = PageInput<"key" | "createdAt">;

/** What the audit log can be asked for. */
export type ListFeatureFlagAuditEntriesQuery = {
  organizationId?: string | undefined;
  flagId?: string | undefined;
  /** Who made the change. */
  userId?: string | undefined;
  action?: AuditQuery["action"] | undefined;
  /** ISO 8601; `start` is included, `end` is not. */
  start?: string | undefined;
  end?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
};

const FLAG_SORTS: readonly FlagSort[] = ["key", "name", "type", "enabled", "createdAt", "updatedAt"];
const OVERRIDE_SORTS: readonly OverrideSort[] = ["userId", "createdAt", "expiresAt"];
const SEGMENT_SORTS: readonly SegmentListQuery["sort"][] = ["key", "createdAt"];
const ACTIONS = ["create", "update", "delete", "evaluate"] as const;

export function parseFlagListQuery(query: unknown): FlagListQuery {
  const read = readerOf(query);
  const include = read.oneOf("include", ["stats"]);
  return {
    ...page(read, FLAG_SORTS),
    ...present("q", read.line("q")),
    ...present("type", read.oneOf("type", FLAG_TYPES)),
    ...present("enabled", read.boolean("enabled")),
    ...present("prefix", read.line("prefix")),
    ...present("include", include),
  };
}

export function parseOverrideListQuery(query: unknown): OverrideListQuery {
  const read = readerOf(query);
  return {
    ...page(read, OVERRIDE_SORTS),
    ...present("flagId", read.line("flagId")),
    ...present("userId", read.line("userId")),
    ...present("q", read.line("q")),
  };
}

export function parseSegmentListQuery(query: unknown): SegmentListQuery {
  return page(readerOf(query), SEGMENT_SORTS);
}

export function parseAuditQuery(query: unknown): AuditQuery {
  const read = readerOf(query);
  const offset = read.integer("offset") ?? 0;
  if (offset < 0) throw wrong("offset", "must be 0 or more");
  return {
    ...present("flagId", read.line("flagId")),
    ...present("userId", read.line("userId")),
    ...present("action", read.oneOf("action", ACTIONS)),
    ...present("start", read.time("start")),
    ...present("end", read.time("end")),
    limit: limitOf(read),
    offset,
  };
}

/** The organization a list names. Read before all else, because it decides whether the caller may ask at all. */
export function parseQueriedOrganization(query: unknown): string | undefined {
  return readerOf(query).line("organizationId");
}

function page<Sort extends string>(read: QueryReader, sorts: readonly Sort[]): PageQuery<Sort> {
  const given = read.line("sort") ?? "createdAt";
  const descending = given.startsWith("-");
  const field = descending ? given.slice(1) : given;
  const sort = sorts.find((known) => known === field);
  if (sort === undefined)
    throw wrong("sort", `must be one of ${sorts.join(", ")}, with - before it for descending`);
  return { limit: limitOf(read), ...present("cursor", read.text("cursor", 4096)), sort, descending };
}

function limitOf(read: QueryReader): number {
  const given = read.integer("limit") ?? DEFAULT_PAGE_LIMIT;
  return Math.min(Math.max(given, 1), MAX_PAGE_LIMIT);
}

export interface QueryReader {
  text(field: string, maxLength: number): string | undefined;
  line(field: string): string | undefined;
  integer(field: string): number | undefined;
  boolean(field: string): boolean | undefined;
  oneOf<Value extends string>(field: string, values: readonly Value[]): Value | undefined;
  /** A time, given back in UTC. */
  time(field: string): string | undefined;
}

export function readerOf(query: unknown): QueryReader {
  const given = (field: string): unknown =>
    // Own fields only: `?__proto__=` and the like end up in the prototype of what the router parsed.
    typeof query === "object" && query !== null && Object.hasOwn(query, field)
      ? (query as Record<string, unknown>)[field]
      : undefined;

  const text = (field: string, maxLength: number): string | undefined => {
    const value = given(field);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw wrong(field, "must be text, given once");
    if (value.length > maxLength) throw wrong(field, `must have at most ${maxLength} characters`);
    if (!isWellFormed(value)) throw wrong(field, "must be well-formed Unicode without NUL");
    return value;
  };
  const line = (field: string) => text(field, MAX_LINE);

  return {
    text,
    line,
    integer(field) {
      const value = given(field);
      if (value === undefined) return undefined;
      const number = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
      if (typeof number !== "number" || !Number.isSafeInteger(number))
        throw wrong(field, "must be a whole number");
      return number;
    },
    boolean(field) {
      const value = given(field);
      if (value === undefined || typeof value === "boolean") return value;
      if (value !== "true" && value !== "false") throw wrong(field, "must be true or false");
      return value === "true";
    },
    oneOf(field, values) {
      const value = line(field);
      if (value === undefined) return undefined;
      const found = values.find((known) => known === value);
      if (found === undefined) throw wrong(field, `must be one of ${values.join(", ")}`);
      return found;
    },
    time(field) {
      const value = line(field);
      if (value === undefined) return undefined;
      const utc = utcTime(value);
      if (utc === undefined) throw wrong(field, NOT_TIME);
      return utc;
    },
  };
}

const wrong = (path: string, message: string) => invalid([{ path, message }]);

function present<Field extends string, Value>(
  field: Field,
  value: Value | undefined,
): { [F in Field]?: Value } {
  return value === undefined ? {} : ({ [field]: value } as { [F in Field]: Value });
}
