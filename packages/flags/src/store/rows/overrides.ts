/** Converts overrides to rows and back, and reads and writes those rows. */
import { type FlagOverride, type FlagOverrideInput, OVERRIDE_FIELDS } from "../../model/override.ts";
import type { OverrideRow } from "../../model/tables.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { sha256 } from "../sha256.ts";
import { conflict, invalid, notFound } from "./entity.ts";
import { type Mapping, mappingOf } from "./mapping.ts";
import { type Adapter, findRow, findRows, where } from "./queries.ts";

export const OVERRIDE_MODEL = "featureFlagOverride";

/** Timeout of a query that counts overrides. */
const COUNT_TIMEOUT_MS = 10_000;

const OVERRIDES: Mapping<typeof OVERRIDE_FIELDS> = mappingOf(OVERRIDE_FIELDS);

/** The last time with a year of four digits. Later times would sort before it as text. */
const LAST_EXPIRY_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export async function readOverride(
  adapter: Adapter,
  tenant: string,
  overrideId: string,
): Promise<FlagOverride> {
  const row = await findRow<OverrideRow>(adapter, OVERRIDE_MODEL, { overrideId, tenant });
  if (row === undefined) throw notFound("override");
  return toOverride(row);
}

/** The user's override of a flag, even if it has expired. */
export async function findOverride(
  adapter: Adapter,
  tenant: string,
  { flagId, userId }: Pick<FlagOverride, "flagId" | "userId">,
): Promise<FlagOverride | undefined> {
  const match = { flagId, userHash: await sha256(userId), tenant };
  const row = await findRow<OverrideRow>(adapter, OVERRIDE_MODEL, match);
  return row && toOverride(row);
}

/** Rows that have expired, at most `limit`. */
export async function findExpired(
  adapter: Adapter,
  tenant: string,
  at: Date,
  limit: number,
): Promise<OverrideRow[]> {
  const also = [{ field: "expiresAt", operator: "lte" as const, value: at.toISOString() }];
  const rows = await findRows<OverrideRow>(adapter, OVERRIDE_MODEL, { tenant }, { also, limit });
  // The database compares text, so a damaged time can be among the rows.
  return rows.filter(({ expiresAt }) => Date.parse(expiresAt ?? "") <= at.getTime());
}

/** Every operation treats an expired override as absent until it is deleted. */
export function isExpired({ expiresAt }: FlagOverride, at: Date): boolean {
  return expiresAt !== undefined && expiresAt.getTime() <= at.getTime();
}

export function newOverride(
  input: FlagOverrideInput,
  id: string,
  { at, now }: { readonly at: Date; readonly now: Date },
): FlagOverride {
  const expiresAt = input.expiresAt === undefined ? undefined : parseExpiry(input.expiresAt, now);
  return OVERRIDES.create(input, at, { id, expiresAt });
}

function parseExpiry(text: string, at: Date): Date {
  const expiresAt = new Date(text);
  const ms = expiresAt.getTime();
  if (!(ms > at.getTime() && ms <= LAST_EXPIRY_MS)) {
    throw invalid("expiresAt is not a future time before the year 10000. Send a later time in ISO 8601.", {
      field: "expiresAt",
    });
  }
  return expiresAt;
}

/** The number of overrides of a tenant, and of those that a user has of a flag. One round trip with `tables`. */
export async function countOverrides(
  tx: Adapter,
  tables: HostTables | undefined,
  tenant: string,
  { flagId, userId }: Pick<FlagOverride, "flagId" | "userId">,
): Promise<{ readonly all: number; readonly own: number }> {
  const userHash = await sha256(userId);
  if (tables === undefined) {
    const own = await tx.count({ model: OVERRIDE_MODEL, where: where({ flagId, userHash, tenant }) });
    return { all: await countAll(tx, tenant), own };
  }
  const column = (field: keyof OverrideRow) => tables.column(OVERRIDE_MODEL, field);
  const text =
    `select count(*) as "all", count(*) filter (where ${column("flagId")} = $2 and ${column("userHash")} = $3) as "own" ` +
    `from ${tables.table(OVERRIDE_MODEL)} where ${column("tenant")} = $1`;
  const [counts] = await tables.query(COUNT_TIMEOUT_MS, text, [tenant, flagId, userHash]);
  return { all: Number(counts?.["all"]), own: Number(counts?.["own"]) };
}

export function countAll(tx: Adapter, tenant: string): Promise<number> {
  return tx.count({ model: OVERRIDE_MODEL, where: where({ tenant }) });
}

/** Throws if a tenant with `count` overrides has no room for `added` more. */
export function requireRoom(count: number, added: number, limit: number): void {
  if (count + added <= limit) return;
  throw conflict(
    `The limit of ${limit} overrides is reached. Delete some, or use a rule for groups of users.`,
    { limit },
  );
}

export async function insertOverride(tx: Adapter, tenant: string, override: FlagOverride): Promise<void> {
  await tx.create<OverrideRow>({
    model: OVERRIDE_MODEL,
    data: { tenant, userHash: await sha256(override.userId), ...OVERRIDES.toColumns(override) },
  });
}

export async function removeOverride(tx: Adapter, tenant: string, overrideId: string): Promise<void> {
  await tx.delete<OverrideRow>({ model: OVERRIDE_MODEL, where: where({ overrideId, tenant }) });
}

/** Decodes an override from the audit log. */
export function reviveOverride(text: string | null): FlagOverride {
  return OVERRIDES.revive(text);
}

export function toOverride(row: OverrideRow): FlagOverride {
  return OVERRIDES.toEntity(row);
}
