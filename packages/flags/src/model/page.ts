/** Pagination of lists: pages, cursors and validated list queries. */
import type { FlagType } from "../engine/definition.ts";

/** What a list says about its page. */
export type Page = {
  /** Present when there are more entries. Opaque; pass it as `cursor`. */
  readonly nextCursor?: string;
  /** The limit that was applied. */
  readonly limit: number;
  /** Whether there is a next page. */
  readonly hasMore: boolean;
};

export const DEFAULT_PAGE_LIMIT: number = 50;
export const MAX_PAGE_LIMIT: number = 200;

/** A validated list query. */
export interface PageQuery<Sort extends string> {
  readonly limit: number;
  readonly cursor?: string;
  readonly sort: Sort;
  readonly descending: boolean;
}

export type FlagSort =
  | "id"
  | "key"
  | "name"
  | "description"
  | "type"
  | "enabled"
  | "defaultValue"
  | "rolloutPercentage"
  | "organizationId"
  | "createdAt"
  | "updatedAt";
export type OverrideSort = "userId" | "createdAt" | "expiresAt";

export interface FlagListQuery extends PageQuery<FlagSort> {
  /** A substring of key, name or description, case-insensitive. */
  readonly q?: string;
  readonly type?: FlagType;
  readonly enabled?: boolean;
  readonly prefix?: string;
  readonly include?: "stats";
  /** The label of the flag, when `multiTenant` is off. */
  readonly organizationId?: string;
}

export interface OverrideListQuery extends PageQuery<OverrideSort> {
  readonly flagId?: string;
  readonly userId?: string;
  /** A substring of the user's id or the reason, case-insensitive. */
  readonly q?: string;
}

export type SegmentListQuery = PageQuery<"key" | "createdAt">;

/** A validated query of the audit log, which is sorted newest first. */
export interface AuditQuery {
  readonly flagId?: string;
  /** The actor's id. */
  readonly userId?: string;
  /** The entries of one change. */
  readonly changeId?: string;
  readonly action?: "create" | "update" | "delete" | "evaluate";
  /** ISO 8601. `start` is inclusive, `end` is exclusive. */
  readonly start?: string;
  readonly end?: string;
  readonly limit: number;
  readonly offset: number;
}
