/** Creates, updates and deletes flags. */
import type { FeatureFlag, FeatureFlagPatch, FlagDraft } from "../../model/flag.ts";
import type { WithWarnings } from "../../model/warning.ts";
import { requireUsable } from "../rows/definition.ts";
import { isSame, requireVersion } from "../rows/entity.ts";
import { insertFlag, newFlag, patchFlag } from "../rows/flags.ts";
import { requireFreeKey, requireMeaningful } from "../rows/global-keys.ts";
import { requireOwnFit } from "../rows/values.ts";
import { withWarnings } from "../rows/warnings.ts";
import { describeDeletion } from "./deleted-flag.ts";
import { storedFlag, storedRules } from "./stored.ts";
import type { Change, Unchanged, WriteContext } from "./write.ts";
import { requireRuled, writtenFlag } from "./write-ruled.ts";

export async function createFlag(
  { tx, tenant, at, newId }: WriteContext,
  input: FlagDraft,
): Promise<Change<WithWarnings<FeatureFlag>>> {
  const flag = newFlag(input, newId(), at);
  requireOwnFit(flag);
  requireMeaningful(tenant, flag);
  requireUsable(flag, [], new Map());
  await requireFreeKey(tx, tenant, flag.key);
  const result = withWarnings(flag, flag, []);
  const rows = () => insertFlag(tx, tenant, flag);
  return { ...subject(flag), action: "flag.created", before: null, after: flag, rows, result };
}

export async function updateFlag(
  context: WriteContext,
  id: string,
  patch: FeatureFlagPatch,
  version: number | undefined,
): Promise<Change<WithWarnings<FeatureFlag>> | Unchanged<WithWarnings<FeatureFlag>>> {
  const before = await storedFlag(context, id);
  requireVersion("flag", before, version);
  const flag = patchFlag(before, patch, context.at);
  const rules = await storedRules(context, id);
  if (isSame(before, flag, patch)) return { action: null, result: withWarnings(before, before, rules) };
  await requireRuled(context, { flag: before, rules }, { flag, rules });
  return { ...writtenFlag(context, before, flag), result: withWarnings(flag, flag, rules) };
}

export async function deleteFlag(
  context: WriteContext,
  id: string,
  version: number | undefined,
): Promise<Change<void>> {
  const { key, before, rows } = await describeDeletion(context, id, version);
  return {
    ...subject({ id, key }),
    action: "flag.deleted",
    get before() {
      return before();
    },
    after: null,
    rows,
    result: undefined,
  };
}

const subject = ({ id, key }: Pick<FeatureFlag, "id" | "key">) => ({
  flagId: id,
  flagKey: key,
  entityId: id,
});
