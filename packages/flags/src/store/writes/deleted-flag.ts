/** What the audit log keeps of a deleted flag: the flag, its rules and its overrides. */
import type { FlagRow, OverrideRow, RuleRow } from "../../model/tables.ts";
import { entityOrRow } from "../rows/entity.ts";
import { toFlag } from "../rows/flags.ts";
import { OVERRIDE_MODEL, toOverride } from "../rows/overrides.ts";
import { findRows, scanRows } from "../rows/queries.ts";
import { RULE_MODEL, toRule } from "../rows/rules.ts";
import { sha256Hex } from "../sha256.ts";
import type { WriteContext } from "./write.ts";

/** Overrides that an entry keeps, in number and in characters of JSON. Beyond it: their number and a digest. */
const MAX_OVERRIDES = 1000;
const MAX_OVERRIDE_LENGTH = 1_000_000;

/** Damaged rows are kept as they are, so that the flag can be deleted. */
export async function describeDeletion({ tx, tenant }: WriteContext, row: FlagRow): Promise<object> {
  const match = { flagId: row.flagId, tenant };
  const rules = await findRows<RuleRow>(tx, RULE_MODEL, match);
  const overrides: object[] = [];
  let count = 0;
  let length = 0;
  let digest = "";
  for await (const found of scanRows<OverrideRow>(tx, OVERRIDE_MODEL, "overrideId", match)) {
    const override = entityOrRow(found, toOverride);
    const text = JSON.stringify(override);
    count += 1;
    length += text.length;
    digest = await sha256Hex(digest + text);
    if (count <= MAX_OVERRIDES && length <= MAX_OVERRIDE_LENGTH) overrides.push(override);
  }
  return {
    ...entityOrRow(row, toFlag),
    rules: rules.sort((a, b) => a.position - b.position).map((rule) => entityOrRow(rule, toRule)),
    overrides,
    ...(overrides.length < count && { overrideCount: count, overridesDigest: digest }),
  };
}
