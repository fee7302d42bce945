/** Describes a flag with its rules and overrides for the audit log, and deletes them. */
import type { FlagRule } from "../../model/rule.ts";
import type { FlagRow, OverrideRow, RuleRow } from "../../model/tables.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { entityOrRow, notFound, overtaken, requireVersion } from "../rows/entity.ts";
import { FLAG_MODEL, toFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, toOverride } from "../rows/overrides.ts";
import { findRow, findRows, scanRows, where } from "../rows/queries.ts";
import { RULE_MODEL, toRule } from "../rows/rules.ts";
import { sha256 } from "../sha256.ts";
import { storedFlag, storedRules } from "./stored.ts";
import type { WriteContext } from "./write.ts";

/** Overrides that an entry keeps, in number and in characters of JSON. Beyond it: their number and a digest. */
const MAX_OVERRIDES = 1000;
const MAX_OVERRIDE_LENGTH = 1_000_000;
/** Timeout of the statement that deletes. */
const DELETE_TIMEOUT_MS = 10_000;

interface Deleted {
  readonly flag: Pick<FlagRow, "key" | "version">;
  readonly rules: readonly (FlagRule | RuleRow)[];
}

export interface Deletion {
  readonly key: string;
  /** After `rows`, with the flag as its row was. */
  readonly before: () => object;
  readonly rows: () => Promise<void>;
}

/** What deleting a flag removes, and how. In the description, damaged rows are as they are. */
export async function describeDeletion(
  context: WriteContext,
  flagId: string,
  version: number | undefined,
): Promise<Deletion> {
  const { tables, contents } = context;
  const overrides = await describeOverrides(context, flagId);
  // On PostgreSQL, reading what is in memory would be a round trip for which other writers wait.
  const isKnown = tables !== undefined && contents !== undefined;
  const { flag, rules } = isKnown ? await readStored(context, flagId) : await readRows(context, flagId);
  requireVersion("flag", flag, version);
  const ordered = [...rules].sort((a, b) => a.position - b.position);
  let deleted: object = flag;
  const rows = async () => {
    if (isKnown) deleted = await removeDirectly(tables, context, flagId);
    else await removeRows(context, flagId);
  };
  return { key: flag.key, before: () => ({ ...deleted, rules: ordered, ...overrides }), rows };
}

async function describeOverrides({ tx, tenant }: WriteContext, flagId: string): Promise<object> {
  const overrides: object[] = [];
  let count = 0;
  let length = 0;
  let digest = "";
  for await (const row of scanRows<OverrideRow>(tx, OVERRIDE_MODEL, "overrideId", { flagId, tenant })) {
    const override = entityOrRow(row, toOverride);
    const text = JSON.stringify(override);
    count += 1;
    length += text.length;
    digest = await sha256(digest + text);
    if (count <= MAX_OVERRIDES && length <= MAX_OVERRIDE_LENGTH) overrides.push(override);
  }
  return { overrides, ...(overrides.length < count && { overrideCount: count, overridesDigest: digest }) };
}

async function readStored(context: WriteContext, flagId: string): Promise<Deleted> {
  return { flag: await storedFlag(context, flagId), rules: await storedRules(context, flagId) };
}

async function readRows({ tx, tenant }: WriteContext, flagId: string): Promise<Deleted> {
  const match = { flagId, tenant };
  const row = await findRow<FlagRow>(tx, FLAG_MODEL, match);
  if (row === undefined) throw notFound("flag");
  const rules = await findRows<RuleRow>(tx, RULE_MODEL, match);
  const flag = { ...entityOrRow(row, toFlag), key: row.key, version: row.version };
  return { flag, rules: rules.map((rule) => entityOrRow(rule, toRule)) };
}

async function removeRows({ tx, tenant }: WriteContext, flagId: string): Promise<void> {
  for (const model of [RULE_MODEL, OVERRIDE_MODEL, FLAG_MODEL])
    await tx.deleteMany({ model, where: where({ flagId, tenant }) });
}

/** The same in one round trip. */
async function removeDirectly(tables: HostTables, { tenant }: WriteContext, flagId: string): Promise<object> {
  const remove = (model: string) =>
    `delete from ${tables.table(model)}
      where ${tables.column(model, "flagId")} = $1 and ${tables.column(model, "tenant")} = $2`;
  const text = `with rules as (${remove(RULE_MODEL)}), overrides as (${remove(OVERRIDE_MODEL)})
    ${remove(FLAG_MODEL)} returning ${tables.columns(FLAG_MODEL)}`;
  const [row] = await tables.query(DELETE_TIMEOUT_MS, text, [flagId, tenant]);
  if (row === undefined) throw overtaken("flag");
  return entityOrRow(row as FlagRow, toFlag);
}
