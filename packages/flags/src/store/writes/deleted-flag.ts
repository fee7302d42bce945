/** Deletes a flag with its rules and overrides, and describes them for the audit log. */
import type { FlagRule } from "../../model/rule.ts";
import type { FlagRow, OverrideRow, RuleRow } from "../../model/tables.ts";
import type { HostTables } from "../postgres/host-tables.ts";
import { entityOrRow, notFound, overtaken, requireVersion } from "../rows/entity.ts";
import { FLAG_MODEL, toFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, toOverride } from "../rows/overrides.ts";
import { findRow, findRows, scanRows, where } from "../rows/queries.ts";
import { RULE_MODEL, toRule } from "../rows/rules.ts";
import { sha256Hex } from "../sha256.ts";
import { storedFlag, storedRules } from "./stored.ts";
import type { WriteContext } from "./write.ts";

/** Overrides that an entry keeps, in number and in characters of JSON. Beyond it: their number and a digest. */
const MAX_OVERRIDES = 1000;
const MAX_OVERRIDE_LENGTH = 1_000_000;
/** Timeout of the statement that deletes. */
const DELETE_TIMEOUT_MS = 10_000;

interface Deleted {
  readonly flag: FlagRow;
  readonly rules: readonly (FlagRule | RuleRow)[];
}

/** Deletes a flag. In the description, damaged rows are as they were. */
export async function removeFlag(
  context: WriteContext,
  flagId: string,
  version: number | undefined,
): Promise<{ readonly key: string; readonly before: object }> {
  const { tables, contents } = context;
  const overrides = await describeOverrides(context, flagId);
  const { flag, rules } =
    tables === undefined || contents === undefined
      ? await removeRows(context, flagId, version)
      : await removeDirectly(tables, context, flagId, version);
  const ordered = [...rules].sort((a, b) => a.position - b.position);
  return { key: flag.key, before: { ...entityOrRow(flag, toFlag), rules: ordered, ...overrides } };
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
    digest = await sha256Hex(digest + text);
    if (count <= MAX_OVERRIDES && length <= MAX_OVERRIDE_LENGTH) overrides.push(override);
  }
  return { overrides, ...(overrides.length < count && { overrideCount: count, overridesDigest: digest }) };
}

async function removeRows(
  { tx, tenant }: WriteContext,
  flagId: string,
  version: number | undefined,
): Promise<Deleted> {
  const match = { flagId, tenant };
  const flag = await findRow<FlagRow>(tx, FLAG_MODEL, match);
  if (flag === undefined) throw notFound("flag");
  requireVersion("flag", flag, version);
  const rules = await findRows<RuleRow>(tx, RULE_MODEL, match);
  for (const model of [RULE_MODEL, OVERRIDE_MODEL, FLAG_MODEL])
    await tx.deleteMany({ model, where: where(match) });
  return { flag, rules: rules.map((rule) => entityOrRow(rule, toRule)) };
}

/** The same in one round trip on PostgreSQL, where the version and the rules are known from memory. */
async function removeDirectly(
  tables: HostTables,
  context: WriteContext,
  flagId: string,
  version: number | undefined,
): Promise<Deleted> {
  requireVersion("flag", await storedFlag(context, flagId), version);
  const remove = (model: string) =>
    `delete from ${tables.table(model)}
      where ${tables.column(model, "flagId")} = $1 and ${tables.column(model, "tenant")} = $2`;
  const text = `with rules as (${remove(RULE_MODEL)}), overrides as (${remove(OVERRIDE_MODEL)})
    ${remove(FLAG_MODEL)} returning ${tables.columns(FLAG_MODEL)}`;
  const [row] = await tables.query(DELETE_TIMEOUT_MS, text, [flagId, context.tenant]);
  if (row === undefined) throw overtaken("flag");
  return { flag: row as FlagRow, rules: await storedRules(context, flagId) };
}
