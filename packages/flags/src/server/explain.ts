/** Why a flag gives what it gives: `POST /feature-flags/admin/flags/:id/explain` and `auth.api.explainFeatureFlag`. */
import type { FlagExplanation } from "../model/evaluation.ts";
import { parseExplainInput } from "../model/evaluation-input.ts";
import type { FlagStore, Snapshot, SnapshotFlag } from "../store/store.ts";
import { admitToEntity, notFound } from "./access.ts";
import { checkBodySize } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { present } from "./context.ts";
import { pathId } from "./request.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

/** For any context: who may read the rules may ask what they do. */
export function explainFlag(service: Service, call: Call): Promise<FlagExplanation> {
  return answer(call, "EVALUATION_ERROR", async () => {
    const { action } = ROUTES.explainFeatureFlag;
    const { scope, id } = await admitToEntity(service, call, action, "flag", () => pathId(call, "id"));
    checkBodySize(call);
    const { context: claimed = {}, environment = service.options.environments?.default } = parseExplainInput(
      call.body,
    );
    const context = { ...present(claimed), ...(environment !== undefined && { environment }) };
    const { snapshot, found, stale } = await findById(service.store, scope.tenant, id);
    const override =
      context.userId === undefined ? undefined : snapshot.override(found.flag.id, context.userId, Date.now());
    const { result, steps } = found.compiled.explain(context, override);
    const { value, variant, reason, variantMetadata } = result;
    const metadata = {
      revision: snapshot.revision,
      ...(stale && { stale: true as const }),
      ...(variantMetadata && { variant: variantMetadata }),
    };
    return { result: { value, ...(variant !== undefined && { variant }), reason, metadata }, steps };
  });
}

async function findById(
  store: FlagStore,
  tenant: string,
  id: string,
): Promise<{ snapshot: Snapshot; found: SnapshotFlag; stale: boolean }> {
  // Throws when there is no such flag.
  const { key } = await store.getFlag(tenant, id);
  let { snapshot, stale } = await store.snapshot(tenant);
  if (snapshot.flags.get(key)?.flag.id !== id) {
    // Another node has just made or renamed it.
    ({ snapshot, stale } = await store.snapshot(tenant, snapshot.revision + 1));
  }
  const found = snapshot.flags.get(key);
  if (found === undefined || found.flag.id !== id) throw notFound("flag");
  return { snapshot, found, stale };
}
