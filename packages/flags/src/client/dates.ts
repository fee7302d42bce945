/** Converts the times in responses of the admin API to dates. Values of flags stay unchanged. */

const DATES = ["createdAt", "updatedAt", "expiresAt", "at"];
const LISTS = ["flags", "rules", "overrides", "segments", "entries", "series"];

/** Returns a copy of the entity, or of an object with lists of entities, with its times as dates. */
export function reviveDates<Data>(data: Data): Data {
  if (typeof data !== "object" || data === null) return data;
  const revived = { ...data } as Record<string, unknown>;
  for (const field of DATES) {
    const text = revived[field];
    if (typeof text === "string") revived[field] = new Date(text);
  }
  for (const field of LISTS) {
    const list = revived[field];
    if (Array.isArray(list)) revived[field] = list.map((entity: unknown) => reviveDates(entity));
  }
  return revived as Data;
}
