/** A page of a list: how much of it there is, and where the next one starts. */
import type { FlagType } from "../engine/definition.ts";

export type Page = {
  /** Present when there is more; pass it back as `cursor`. Opaque. */
  readonly nextCursor?: string;
  /** The limit that was used. */
  readonly limit: number;
  readonly hasMore: boolean;
};

export const DEFAULT_PAGE_LIMIT: number = 50;
export const MAX_PAGE_LIMIT: number = 200;

/** A checked list query: what to sort by, and where to go on. */
export interface PageQuery<Sort extends string> {
  readonly limit: number;
  readonly cursor?: string;
  readonly sort: Sort;
  readonly descending: boolean;
}

export type FlagSort = "key" | "name" | "type" | "enabled" | "createdAt" | "updatedAt";
export type OverrideSort = "userId" | "createdAt" | "expiresAt";

export interface FlagListQuery extends PageQuery<FlagSort> {
  /** A part of key, name or description, in any case. */
  readonly q?: string;
  readonly type?: FlagType;
  readonly enabled?: boolean;
  readonly prefix?: string;
  readonly include?: "stats";
  /** The label, where the application is not multi-tenant. */
  readonly organizationId?: string;
}

export interface OverrideListQuery extends PageQuery<OverrideSort> {
  readonly flagId?: string;
  readonly userId?: string;
  /** A part of the user's id or the reason, in any case. */
  readonly q?: string;
}

export type SegmentListQuery = PageQuery<"key" | "createdAt">;

/** A checked query of the audit log, which is given newest first. */
export interface AuditQuery {
  readonly flagId?: string;
  /** The actor's id. */
  readonly userId?: string;
  readonly action?: "create" | "update" | "delete" | "evaluate";
  /** ISO 8601; `start` is included, `end` is not. */
  readonly start?: string;
  readonly end?: string;
  readonly limit: number;
  readonly offset: number;
}
