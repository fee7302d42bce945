/** Dates in the answers of the admin API: fields of our own entities become dates, values of flags never do. */

const DATES = ["createdAt", "updatedAt", "expiresAt", "at"];
const LISTS = ["flags", "rules", "overrides", "segments", "entries", "series"];

/** An entity, or an object with a list of them, with the times in it as dates. */
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
