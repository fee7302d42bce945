/** Converts the times in responses of the admin API to dates. Values of flags stay unchanged. */

const DATES = ["createdAt", "updatedAt", "expiresAt", "at"] as const;
const LISTS = ["flags", "rules", "overrides", "segments", "entries", "series"] as const;

/** An answer with its times as dates. `number` stands for the entities of a list. */
export type Revived<Data> = {
  [Name in keyof Data]: Name extends (typeof DATES)[number]
    ? RevivedTime<Data[Name]>
    : Name extends (typeof LISTS)[number] | number
      ? Revived<Data[Name]>
      : Data[Name];
};
type RevivedTime<Time> = Time extends string ? Date : Time;

/** Returns a copy of the entity, or of an object with lists of entities, with its times as dates. */
export function reviveDates(data: unknown): unknown {
  if (typeof data !== "object" || data === null) return data;
  const revived: Record<string, unknown> = { ...data };
  for (const field of DATES) {
    const text = revived[field];
    if (typeof text === "string") revived[field] = new Date(text);
  }
  for (const field of LISTS) {
    const list = revived[field];
    if (Array.isArray(list)) revived[field] = list.map(reviveDates);
  }
  return revived;
}
