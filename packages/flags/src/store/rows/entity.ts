/** The errors and the audit text that all kinds of entities share. */
import { FeatureFlagError } from "../../model/errors.ts";

export type EntityName = "flag" | "rule" | "override" | "segment" | "audit entry" | "change" | "plan";

/** A `text` column of MySQL holds 65,535 bytes, and an audit entry keeps the whole entity in one. */
const MAX_ENTITY_BYTES = 65_000;

export function notFound(entity: EntityName): FeatureFlagError {
  return new FeatureFlagError("FLAG_NOT_FOUND", `There is no such ${entity}. Check its id.`, {
    details: { entity },
  });
}

export function conflict(message: string, details: Readonly<Record<string, unknown>>): FeatureFlagError {
  return new FeatureFlagError("VALIDATION_ERROR", message, { status: 409, details });
}

export function invalid(message: string, details?: Readonly<Record<string, unknown>>): FeatureFlagError {
  return new FeatureFlagError("VALIDATION_ERROR", message, details && { details });
}

export function requireVersion(
  entity: EntityName,
  stored: { readonly version: number } & ({ readonly key: string } | { readonly id: string }),
  expected: number | undefined,
): void {
  if (expected === undefined || expected === stored.version) return;
  const name = "key" in stored ? stored.key : stored.id;
  throw conflict(
    `The ${entity} "${name}" is at version ${stored.version}, not ${expected}, because it was changed after you read it. Read it again, then repeat the change with version ${stored.version}.`,
    { field: "version", version: stored.version },
  );
}

/** Whether a patch leaves all its fields as they were. Values with their keys in another order count as different. */
export function isSame<Entity extends object>(before: Entity, after: Entity, patch: object): boolean {
  return Object.keys(patch).every(
    (field) => JSON.stringify(before[field as keyof Entity]) === JSON.stringify(after[field as keyof Entity]),
  );
}

/** Another program changed the row between the read and the write of this transaction. */
export function overtaken(entity: EntityName): FeatureFlagError {
  return conflict(
    `Another program changed the ${entity} at the same time. Read it again, then repeat the change.`,
    {
      field: "version",
    },
  );
}

/** The deleted entity for the audit log. A damaged row is logged as it is, so that it can be deleted. */
export function entityOrRow<Row extends object, Entity extends object>(
  row: Row,
  decode: (row: Row) => Entity,
): Row | Entity {
  try {
    return decode(row);
  } catch {
    return row;
  }
}

/** An entity from memory for a caller, who may change it. Values inside are frozen, dates cannot be. */
export function copyOf<Entity extends { readonly createdAt: Date; readonly updatedAt?: Date }>(
  entity: Entity,
): Entity {
  const { createdAt, updatedAt } = entity;
  return {
    ...entity,
    createdAt: new Date(createdAt),
    ...(updatedAt && { updatedAt: new Date(updatedAt) }),
  };
}

/** The entity as text for the audit log. */
export function entityText(entity: object): string {
  const text = JSON.stringify(entity);
  if (!fitsColumn(text)) {
    throw invalid(
      `The entity is larger than ${MAX_ENTITY_BYTES} bytes as JSON. Store large data elsewhere and keep its URL here.`,
      { limit: MAX_ENTITY_BYTES },
    );
  }
  return text;
}

/** Whether a `text` column of every database holds the text. */
export function fitsColumn(text: string): boolean {
  // A UTF-16 unit takes at most three bytes, so most texts need no encoding here.
  return text.length * 3 <= MAX_ENTITY_BYTES || new TextEncoder().encode(text).length <= MAX_ENTITY_BYTES;
}
