/** Parts of the OpenAPI documentation that several operations share. */
import {
  anyJson,
  anyObject,
  boolean,
  integer,
  type JsonSchema,
  listOf,
  type ObjectSchema,
  objectOf,
  oneOf,
  string,
  time,
} from "../http/openapi.ts";

/** The query parameters of a list that comes in pages. */
export const PAGE_QUERY: readonly string[] = ["organizationId", "cursor", "limit", "sort"];

/** The query parameters of an operation on a flag or segment. */
export const ENTITY_QUERY: readonly string[] = ["organizationId"];

export const PAGE_SCHEMA: ObjectSchema = objectOf({ nextCursor: string, limit: integer, hasMore: boolean });

/** The query parameters of a change. */
export const CHANGE_QUERY: readonly string[] = ["note"];
export const ENTITY_CHANGE_QUERY: readonly string[] = [...ENTITY_QUERY, ...CHANGE_QUERY];

/** An entity in the response to the write that created or changed it. */
export function withWarnings({ properties, ...schema }: ObjectSchema): ObjectSchema {
  const warnings = listOf(
    objectOf({
      code: oneOf("OFF_CHANGES_NOTHING", "UNKNOWN_ATTRIBUTE", "CLAIMED_ATTRIBUTE", "UNKNOWN_USER"),
      message: string,
    }),
  );
  return { ...schema, properties: { ...properties, warnings } };
}

export const EVALUATION_FIELDS: Readonly<Record<string, JsonSchema>> = {
  value: anyJson,
  variant: string,
  reason: oneOf("rule_match", "override", "percentage_rollout", "default", "disabled", "not_found"),
  metadata: anyObject,
};

/** The window and the hourly series of statistics. */
export const WINDOW_SCHEMA: JsonSchema = objectOf({ start: time, end: time });
export const SERIES_SCHEMA: JsonSchema = listOf(objectOf({ at: time, evaluations: integer }));
