/** The filters of the list of flags, as they are in the address. */
import type { FlagFilters } from "../api/queries.ts";

export interface FlagsSearch {
  readonly q?: string;
  readonly type?: string;
  readonly state?: "on" | "off";
  readonly sort?: string;
  /** Opens the form of a new flag. */
  readonly create?: boolean;
}

export const DEFAULT_SORT = "-updatedAt";
const SORTS = ["key", "name", "type", "enabled", "createdAt", "updatedAt"];
const TYPES = ["boolean", "string", "number", "json"];

export function readFlagsSearch(search: Record<string, unknown>): FlagsSearch {
  const { q, type, state, sort, create } = search;
  return {
    ...((typeof q === "string" || typeof q === "number") && q !== "" && { q: String(q) }),
    ...(typeof type === "string" && TYPES.includes(type) && { type }),
    ...((state === "on" || state === "off") && { state }),
    ...(typeof sort === "string" && SORTS.includes(sort.replace(/^-/, "")) && { sort }),
    ...(create === true && { create }),
  };
}

export function filtersOf({ q, type, state, sort = DEFAULT_SORT }: FlagsSearch): FlagFilters {
  return { q, type, sort, ...(state !== undefined && { enabled: state === "on" }) };
}
