/** What the store does with every kind of entity: finds none, refuses a stale version, writes it down for the audit log. */
import { FeatureFlagError } from "../model/errors.ts";

export type EntityName = "flag" | "rule" | "override" | "segment";

/** MySQL's `text` columns hold 65,535 bytes, and the audit log keeps each entity whole in one of them. */
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
  stored: { readonly version: number },
  expected: number | undefined,
): void {
  if (expected === undefined || expected === stored.version) return;
  throw conflict(
    `The ${entity} has been changed since: it is at version ${stored.version}, not ${expected}. Read it again, then repeat the change.`,
    { field: "version", version: stored.version },
  );
}

/** Somebody has changed the row between this transaction's reading and its writing, past the line all writers wait in. */
export function overtaken(entity: EntityName): FeatureFlagError {
  return conflict(
    `The ${entity} has just been changed by someone else. Read it again, then repeat the change.`,
    {
      field: "version",
    },
  );
}

/** What the log keeps of an entity that goes: where somebody has damaged its row, the row, which must go all the same. */
export function entityOrRow<Row extends object>(row: Row, decode: (row: Row) => object): object {
  try {
    return decode(row);
  } catch {
    return row;
  }
}

/** The entity as the audit log keeps it. */
export function entityText(entity: object): string {
  const text = JSON.stringify(entity);
  // A UTF-16 unit takes at most three bytes, so most entities need no counting.
  if (text.length * 3 > MAX_ENTITY_BYTES && new TextEncoder().encode(text).length > MAX_ENTITY_BYTES) {
    throw invalid(
      `This is too large: as JSON it may have ${MAX_ENTITY_BYTES} bytes. Keep large data elsewhere and store its address.`,
      { limit: MAX_ENTITY_BYTES },
    );
  }
  return text;
}
