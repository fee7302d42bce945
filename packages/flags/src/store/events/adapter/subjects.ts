/**
 * The subjects of flags: their first exposures, and how rows find them that lack the id of the flag's unit, by the links that
 * sign-ins have made.
 */
import type { EventRow, LinkRow, SubjectRow } from "../../../model/event-rows.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { sha256 } from "../../sha256.ts";
import type { Exposure, FigureFlag } from "../event-log.ts";
import { SUBJECT_STEP_MS } from "../limits.ts";

export const LINKS = "featureFlagLink";
export const SUBJECTS = "featureFlagSubject";

/** What events of a subject are credited to. */
export type FirstExposure = Pick<SubjectRow, "arm" | "byChance">;

type First = FirstExposure & Pick<SubjectRow, "firstAt">;

function subjectHash(flagId: string, environment: string, subject: string): string | Promise<string> {
  return sha256(`${flagId}\n${environment}\n${subject}`);
}

/** In the same moment, an exposure by chance comes first. */
function isEarlier(one: First, other: First): boolean {
  if (one.firstAt !== other.firstAt) return one.firstAt < other.firstAt;
  return one.byChance === other.byChance ? one.arm < other.arm : one.byChance;
}

/** Keeps the first exposure of each subject, in whatever order they are reported. */
export async function addSubjects(tx: Adapter, exposures: readonly Exposure[]): Promise<void> {
  const firsts = new Map<string, Omit<SubjectRow, "id">>();
  for (const { flagId, environment = "", subject, arm, byChance, firstMs, lastMs } of exposures) {
    if (!subject) continue;
    const hash = await subjectHash(flagId, environment, subject);
    const times = { firstAt: new Date(firstMs).toISOString(), lastAt: new Date(lastMs).toISOString() };
    const row = { subjectHash: hash, flagId, environment, subject, arm, byChance, ...times };
    const known = firsts.get(hash);
    const first = known === undefined || isEarlier(row, known) ? row : known;
    const lastAt = known !== undefined && known.lastAt > row.lastAt ? known.lastAt : row.lastAt;
    firsts.set(hash, { ...first, lastAt });
  }
  const stored = await readSubjects(tx, [...firsts.keys()]);
  for (const [hash, row] of sorted(firsts)) {
    const known = stored.get(hash);
    if (known === undefined) await tx.create<SubjectRow>({ model: SUBJECTS, data: row });
    else if (isEarlier(row, known)) await replaceFirst(tx, row, known);
  }
  await prolong(tx, stored, new Map(Array.from(firsts, ([hash, { lastAt }]) => [hash, lastAt])));
}

/** Compares in the database, because another process may write the same row. */
async function replaceFirst(tx: Adapter, row: Omit<SubjectRow, "id">, known: First): Promise<void> {
  const { arm, byChance, firstAt } = row;
  const isSameTime = firstAt === known.firstAt;
  await tx.updateMany({
    model: SUBJECTS,
    where: [
      { field: "subjectHash", value: row.subjectHash },
      { field: "firstAt", operator: isSameTime ? "eq" : "gt", value: firstAt },
      ...(isSameTime ? [{ field: "arm", value: known.arm }] : []),
    ],
    update: { arm, byChance, firstAt },
  });
}

/** The events prolong the rows of their subjects, whose ids may follow from a link. */
export async function prolongSubjects(tx: Adapter, events: readonly EventRow[]): Promise<void> {
  const lacking = events.filter(({ subject }) => subject === null);
  const userOf = await usersOf(tx, idsOf(lacking, "anonymousId"));
  const anonymousOf = await anonymousIdsOf(tx, idsOf(lacking, "userId"));
  const uses = new Map<string, string>();
  for (const { flagId, environment, subject, userId, anonymousId, at } of events) {
    const linked = [userOf.get(anonymousId ?? ""), anonymousOf.get(userId ?? "")];
    for (const id of subject === null ? linked : [subject]) {
      if (flagId === null || !id) continue;
      const hash = await subjectHash(flagId, environment, id);
      if (at > (uses.get(hash) ?? "")) uses.set(hash, at);
    }
  }
  await prolong(tx, await readSubjects(tx, [...uses.keys()]), uses);
}

async function prolong(
  tx: Adapter,
  stored: ReadonlyMap<string, SubjectRow>,
  uses: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [hash, lastAt] of sorted(uses)) {
    const known = stored.get(hash);
    if (known === undefined || Date.parse(lastAt) < Date.parse(known.lastAt) + SUBJECT_STEP_MS) continue;
    const where = [
      { field: "subjectHash", value: hash },
      { field: "lastAt", operator: "lt" as const, value: lastAt },
    ];
    await tx.updateMany({ model: SUBJECTS, where, update: { lastAt } });
  }
}

/** In the order of the hashes, so that concurrent transactions do not deadlock. */
function sorted<Value>(map: ReadonlyMap<string, Value>): (readonly [string, Value])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

async function readSubjects(
  adapter: Adapter,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, SubjectRow>> {
  const rows = await findRowsIn<SubjectRow>(adapter, SUBJECTS, {}, "subjectHash", [...hashes].sort());
  return new Map(rows.map((row) => [row.subjectHash, row]));
}

/** The first exposures of the subjects of events, in the order of the events. */
export async function firstExposuresOf(
  adapter: Adapter,
  events: readonly (readonly [Pick<EventRow, "flagId" | "environment">, string | undefined])[],
): Promise<(FirstExposure | undefined)[]> {
  const hashes = await Promise.all(
    events.map(([{ flagId, environment }, subject]) =>
      subject ? subjectHash(flagId ?? "", environment, subject) : "",
    ),
  );
  const asked = new Set(hashes);
  asked.delete("");
  const stored = await readSubjects(adapter, [...asked]);
  return hashes.map((hash) => stored.get(hash));
}

/** The ids of a stored exposure or event. */
export interface StoredIds {
  /** Null if the row lacks the unit's id. */
  readonly subject: string | null;
  readonly userId: string | null;
  readonly anonymousId: string | null;
}

/** Rows whose links are read together. */
const CHUNK = 500;

/** Gives the rows in chunks, each with its subject; undefined if the row lacks it and there is no link. */
export async function* withSubjects<Row extends StoredIds>(
  adapter: Adapter,
  unit: FigureFlag["unit"],
  rows: AsyncIterable<Row>,
): AsyncGenerator<readonly (readonly [Row, string | undefined])[]> {
  let chunk: Row[] = [];
  for await (const row of rows) {
    if (chunk.push(row) < CHUNK) continue;
    yield await resolved(adapter, unit, chunk);
    chunk = [];
  }
  yield await resolved(adapter, unit, chunk);
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
