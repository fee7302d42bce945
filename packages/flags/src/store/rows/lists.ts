/** Lists flags, overrides and segments, filtered, sorted and in pages. */
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagOverride } from "../../model/override.ts";
import type {
  FlagListQuery,
  OverrideListQuery,
  Page,
  PageQuery,
  SegmentListQuery,
} from "../../model/page.ts";
import type { FlagSegment } from "../../model/segment.ts";
import type { FlagRow, OverrideRow, SegmentRow } from "../../model/tables.ts";
import type { TenantFilter } from "../flag-store.ts";
import { sha256 } from "../sha256.ts";
import { encodeJson } from "./codec.ts";
import { copyOf } from "./entity.ts";
import { FLAG_MODEL, toFlag } from "./flags.ts";
import { isExpired, OVERRIDE_MODEL, toOverride } from "./overrides.ts";
import { type Position, readPage, type SortValue } from "./pages.ts";
import { type Adapter, type Match, scanRows } from "./queries.ts";
import { SEGMENT_MODEL, toSegment } from "./segments.ts";

const matchOf = (tenants: TenantFilter): Match => (tenants === "all" ? {} : { tenant: tenants.tenant });

/** `known`: all flags of the tenants as the database has them, if they are in memory. */
export async function listFlags(
  adapter: Adapter,
  tenants: TenantFilter,
  query: FlagListQuery,
  known?: Iterable<FeatureFlag>,
): Promise<{ flags: FeatureFlag[]; page: Page }> {
  const { q, type, enabled, prefix, organizationId } = query;
  const holds = q === undefined ? () => true : contains(q);
  const { items: flags, page } = await list<FlagRow, FeatureFlag>(adapter, query, {
    model: FLAG_MODEL,
    idField: "flagId",
    match: matchOf(tenants),
    toEntity: toFlag,
    sortValue: (flag) => sortValueOf(flag, query.sort),
    matches: (flag) =>
      (type === undefined || flag.type === type) &&
      (enabled === undefined || flag.enabled === enabled) &&
      (prefix === undefined || flag.key.startsWith(prefix)) &&
      (organizationId === undefined || (flag.organizationId ?? "") === organizationId) &&
      (holds(flag.key) || holds(flag.name) || holds(flag.description)),
    filtered: (q ?? type ?? enabled ?? prefix ?? organizationId) !== undefined,
    known,
  });
  return { flags: known === undefined ? flags : flags.map(copyOf), page };
}

function sortValueOf(flag: FeatureFlag, sort: FlagListQuery["sort"]): SortValue {
  if (sort === "updatedAt") return flag.updatedAt.getTime();
  if (sort === "createdAt") return flag.id;
  if (sort !== "defaultValue") return flag[sort] ?? null;
  return flag.defaultValue === undefined ? null : encodeJson(flag.defaultValue);
}

/** Whether the order is the order of the ids, which sort by the time of creation. */
export function isIdOrder(sort: string): boolean {
  return sort === "createdAt" || sort === "id";
}

export async function listOverrides(
  adapter: Adapter,
  tenants: TenantFilter,
  query: OverrideListQuery,
  at: Date,
): Promise<{ overrides: FlagOverride[]; page: Page }> {
  const { flagId, userId, q } = query;
  const holds = q === undefined ? () => true : contains(q);
  const { items: overrides, page } = await list<OverrideRow, FlagOverride>(adapter, query, {
    model: OVERRIDE_MODEL,
    idField: "overrideId",
    match: {
      ...matchOf(tenants),
      ...(flagId !== undefined && { flagId }),
      ...(userId !== undefined && { userHash: await sha256(userId) }),
    },
    toEntity: toOverride,
    sortValue: (override) => {
      if (query.sort === "userId") return override.userId;
      if (query.sort === "expiresAt") return override.expiresAt?.getTime() ?? null;
      query.sort satisfies "createdAt";
      return override.id;
    },
    matches: (override) => !isExpired(override, at) && (holds(override.userId) || holds(override.reason)),
    filtered: q !== undefined,
  });
  return { overrides, page };
}

export async function listSegments(
  adapter: Adapter,
  tenants: TenantFilter,
  query: SegmentListQuery,
): Promise<{ segments: FlagSegment[]; page: Page }> {
  const { items: segments, page } = await list<SegmentRow, FlagSegment>(adapter, query, {
    model: SEGMENT_MODEL,
    idField: "segmentId",
    match: matchOf(tenants),
    toEntity: toSegment,
    sortValue: (segment) => (query.sort === "key" ? segment.key : segment.id),
    matches: () => true,
    filtered: false,
  });
  return { segments, page };
}

interface ListSource<Row, Entity> {
  readonly model: string;
  readonly idField: string & keyof Row;
  /** Filters that work the same on every database. The others are in `matches`. */
  readonly match: Match;
  toEntity(row: Row): Entity;
  sortValue(entity: Entity): SortValue;
  matches(entity: Entity): boolean;
  readonly filtered: boolean;
  /** All entities that `match` selects, if they are in memory. */
  readonly known?: Iterable<Entity> | undefined;
}

/**
 * Sorts and searches in memory, not in the database: collations differ, `_` is a wildcard in `LIKE`, and the adapter
 * sorts by one column only. The default order, by creation time, is the order of the ids and reads only its page.
 */
function list<Row extends object, Entity extends { readonly id: string }>(
  adapter: Adapter,
  query: PageQuery<string>,
  { model, idField, match, toEntity, sortValue, matches, filtered, known }: ListSource<Row, Entity>,
): Promise<{ items: Entity[]; page: Page }> {
  const ordered = isIdOrder(query.sort) && known === undefined;
  return readPage({
    query,
    ordered,
    sortValue,
    idOf: ({ id }) => id,
    matches,
    async *entries(after: Position | undefined) {
      if (known !== undefined) return yield* known;
      const rows = scanRows<Row>(adapter, model, idField, match, {
        ...(ordered && { descending: query.descending, after: after?.id }),
        ...(ordered && !filtered && { expected: query.limit + 1 }),
      });
      for await (const row of rows) yield toEntity(row);
    },
  });
}

/** Tests whether a text contains `q`, ignoring case. */
function contains(q: string): (text: string | undefined) => boolean {
  const wanted = q.toLowerCase();
  return (text) => text?.toLowerCase().includes(wanted) === true;
}
