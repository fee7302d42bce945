/** Query parameters of lists: strings from a URL, or typed values from server code. */

import type { FlagType } from "../engine/definition.ts";
import { FLAG_TYPES } from "./flag.ts";
import { invalid, isKey, isWellFormed, MAX_LINE, NOT_TIME, utcTime } from "./inputs.ts";
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
  /** The organization whose entries are listed, when `multiTenant` is on. */
  organizationId?: string | undefined;
  /** The `nextCursor` of the previous page. */
  cursor?: string | undefined;
  /** 1 to 200, default 50. Other numbers are clamped. */
  limit?: number | undefined;
  /** A field, with the prefix `-` for descending order. Default `createdAt`. */
  sort?: SortInput<Sort> | undefined;
};

/** The query of a list of flags. */
export type ListFeatureFlagsQuery = PageInput<FlagSort> & {
  /** A substring of key, name or description, case-insensitive. */
  q?: string | undefined;
  /** Only flags of this type. */
  type?: FlagType | undefined;
  /** Only flags that are on, or off. */
  enabled?: boolean | undefined;
  /** The prefix of the key. */
  prefix?: string | undefined;
  /** Adds the evaluations and unique users of the last 24 hours to each flag. */
  include?: "stats" | undefined;
};

/** The query of a list of overrides. */
export type ListFeatureFlagOverridesQuery = PageInput<OverrideSort> & {
  /** The id or the key of the flag. */
  flagId?: string | undefined;
  /** The user with the override. */
  userId?: string | undefined;
  /** A substring of the user's id or the reason, case-insensitive. */
  q?: string | undefined;
};

/** The query of a list of segments. */
export type ListFeatureFlagSegmentsQuery = PageInput<"key" | "createdAt">;

/** The query of the audit log. */
export type ListFeatureFlagAuditEntriesQuery = {
  /** The organization whose log is read, when `multiTenant` is on. */
  organizationId?: string | undefined;
  /** The id of the flag, or the key of one that exists. */
  flagId?: string | undefined;
  /** The id of the actor. */
  userId?: string | undefined;
  /** The entries of one save, applied plan or revert. */
  changeId?: string | undefined;
  /** Only creations, updates or deletions. */
  action?: AuditQuery["action"] | undefined;
  /** ISO 8601. `start` is inclusive, `end` is exclusive. */
  start?: string | undefined;
  /** ISO 8601, exclusive. */
  end?: string | undefined;
  /** 1 to 200, default 50. Other numbers are clamped. */
  limit?: number | undefined;
  /** Entries to skip. Default 0. */
  offset?: number | undefined;
};

const FLAG_SORTS: readonly FlagSort[] = [
  "id",
  "key",
  "name",
  "description",
  "type",
  "enabled",
  "defaultValue",
  "rolloutPercentage",
  "organizationId",
  "createdAt",
  "updatedAt",
];
const OVERRIDE_SORTS: readonly OverrideSort[] = ["userId", "createdAt", "expiresAt"];
const SEGMENT_SORTS: readonly SegmentListQuery["sort"][] = ["key", "createdAt"];
const ACTIONS = ["create", "update", "delete", "evaluate"] as const;

export function parseFlagListQuery(query: unknown): FlagListQuery {
  const read = new QueryReader(query);
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
  const read = new QueryReader(query);
  return {
    ...page(read, OVERRIDE_SORTS),
    ...present("flagId", read.line("flagId")),
    ...present("userId", read.line("userId")),
    ...present("q", read.line("q")),
  };
}

export function parseSegmentListQuery(query: unknown): SegmentListQuery {
  return page(new QueryReader(query), SEGMENT_SORTS);
}

export function parseAuditQuery(query: unknown): AuditQuery {
  const read = new QueryReader(query);
  const offset = read.integer("offset") ?? 0;
  if (offset < 0) throw wrong("offset", "must be 0 or more");
  return {
    ...present("flagId", read.line("flagId")),
    ...present("userId", read.line("userId")),
    ...present("changeId", read.line("changeId")),
    ...present("action", read.oneOf("action", ACTIONS)),
    ...present("start", read.time("start")),
    ...present("end", read.time("end")),
    limit: limitOf(read),
    offset,
  };
}

/** The organization in the query. Read before the other parameters, because authorization depends on it. */
export function parseQueriedOrganization(query: unknown): string | undefined {
  return new QueryReader(query).line("organizationId");
}

function page<Sort extends string>(read: QueryReader, sorts: readonly Sort[]): PageQuery<Sort> {
  const order = read.line("sort") ?? "createdAt";
  const descending = order.startsWith("-");
  const field = descending ? order.slice(1) : order;
  const sort = sorts.find((candidate) => candidate === field);
  if (sort === undefined) {
    const wanted = isKey(field) ? `, not ${field}` : "";
    throw wrong(
      "sort",
      `must be one of ${sorts.join(", ")}, with the prefix - for descending order${wanted}`,
    );
  }
  return { limit: limitOf(read), ...present("cursor", read.text("cursor", 4096)), sort, descending };
}

function limitOf(read: QueryReader): number {
  const requested = read.integer("limit") ?? DEFAULT_PAGE_LIMIT;
  return Math.min(Math.max(requested, 1), MAX_PAGE_LIMIT);
}

export class QueryReader {
  readonly #query: unknown;

  constructor(query: unknown) {
    this.#query = query;
  }

  text(field: string, maxLength: number): string | undefined {
    const value = this.#parameter(field);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw wrong(field, "must be a string and may occur only once");
    if (value.length > maxLength) throw wrong(field, `must have at most ${maxLength} characters`);
    if (!isWellFormed(value)) throw wrong(field, "must be well-formed Unicode without NUL");
    return value;
  }

  line(field: string): string | undefined {
    return this.text(field, MAX_LINE);
  }

  integer(field: string): number | undefined {
    const value = this.#parameter(field);
    if (value === undefined) return undefined;
    const number = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number !== "number" || !Number.isSafeInteger(number))
      throw wrong(field, "must be a whole number");
    return number;
  }

  boolean(field: string): boolean | undefined {
    const value = this.#parameter(field);
    if (value === undefined || typeof value === "boolean") return value;
    if (value !== "true" && value !== "false") throw wrong(field, "must be true or false");
    return value === "true";
  }

  oneOf<Value extends string>(field: string, values: readonly Value[]): Value | undefined {
    const value = this.line(field);
    if (value === undefined) return undefined;
    const match = values.find((candidate) => candidate === value);
    if (match === undefined) throw wrong(field, `must be one of ${values.join(", ")}`);
    return match;
  }

  /** A time in ISO 8601, converted to UTC. */
  time(field: string): string | undefined {
    const value = this.line(field);
    if (value === undefined) return undefined;
    const utc = utcTime(value);
    if (utc === undefined) throw wrong(field, NOT_TIME);
    return utc;
  }

  #parameter(field: string): unknown {
    // Own fields only, because a router may put `?__proto__=` into the prototype of the parsed query.
    return typeof this.#query === "object" && this.#query !== null && Object.hasOwn(this.#query, field)
      ? (this.#query as Record<string, unknown>)[field]
      : undefined;
  }
}

const wrong = (path: string, message: string) => invalid([{ path, message }]);

function present<Field extends string, Value>(
  field: Field,
  value: Value | undefined,
): { [F in Field]?: Value } {
  return value === undefined ? {} : ({ [field]: value } as { [F in Field]: Value });
}
