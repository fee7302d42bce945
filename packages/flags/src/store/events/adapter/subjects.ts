/** Finds the subjects of rows that lack the id of the flag's unit, by the links that sign-ins have made. */
import type { LinkRow } from "../../../model/event-rows.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { sha256 } from "../../sha256.ts";
import type { FigureFlag } from "../event-log.ts";
import { LINKS } from "./exposure-rows.ts";

/** The ids of a stored exposure or event. */
export interface StoredIds {
  /** Null if the row lacks the unit's id. */
  readonly subject: string | null;
  readonly userId: string | null;
  readonly anonymousId: string | null;
}

/** Rows whose links are read together. */
const CHUNK = 500;

/** Gives each row with its subject; undefined if the row lacks it and there is no link. */
export async function* withSubjects<Row extends StoredIds>(
  adapter: Adapter,
  unit: FigureFlag["unit"],
  rows: AsyncIterable<Row>,
): AsyncGenerator<readonly [Row, string | undefined]> {
  let chunk: Row[] = [];
  for await (const row of rows) {
    if (chunk.push(row) < CHUNK) continue;
    yield* await resolved(adapter, unit, chunk);
    chunk = [];
  }
  yield* await resolved(adapter, unit, chunk);
}

async function resolved<Row extends StoredIds>(
  adapter: Adapter,
  unit: FigureFlag["unit"],
  rows: readonly Row[],
): Promise<(readonly [Row, string | undefined])[]> {
  const lacking = rows.filter(({ subject }) => subject === null);
  if (unit === "userId") {
    const userOf = await usersOf(adapter, idsOf(lacking, "anonymousId"));
    return rows.map((row) => [row, row.subject ?? userOf.get(row.anonymousId ?? "")]);
  }
  if (unit === "anonymousId") {
    const anonymousOf = await anonymousIdsOf(adapter, idsOf(lacking, "userId"));
    return rows.map((row) => [row, row.subject ?? anonymousOf.get(row.userId ?? "")]);
  }
  unit satisfies "other";
  return rows.map((row) => [row, row.subject ?? undefined]);
}

function idsOf(rows: readonly StoredIds[], field: "userId" | "anonymousId"): string[] {
  const ids = new Set(rows.map((row) => row[field] ?? ""));
  ids.delete("");
  return [...ids];
}

async function usersOf(
  adapter: Adapter,
  anonymousIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const hashes = await Promise.all(anonymousIds.map(sha256));
  const rows = await findRowsIn<LinkRow>(adapter, LINKS, {}, "linkHash", hashes);
  return new Map(rows.map(({ anonymousId, userId }) => [anonymousId, userId]));
}

/** The first anonymous id of each user. */
async function anonymousIdsOf(
  adapter: Adapter,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const first = new Map<string, LinkRow>();
  for (const row of await findRowsIn<LinkRow>(adapter, LINKS, {}, "userId", userIds)) {
    const known = first.get(row.userId);
    const isFirst =
      known === undefined ||
      row.at < known.at ||
      (row.at === known.at && row.anonymousId < known.anonymousId);
    if (isFirst) first.set(row.userId, row);
  }
  return new Map(Array.from(first, ([userId, { anonymousId }]) => [userId, anonymousId]));
}
