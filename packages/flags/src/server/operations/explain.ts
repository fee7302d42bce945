/** The operation that explains an evaluation step by step: `POST /feature-flags/admin/flags/:id/explain`. */
import type { ExplainFeatureFlagInput, FlagExplanation } from "../../model/evaluation.ts";
import { explainBody, parseExplainInput } from "../../model/evaluation-input.ts";
import type { FlagStore, Snapshot, SnapshotFlag } from "../../store/flag-store.ts";
import { notFound } from "../../store/rows/entity.ts";
import { admitToEntity } from "../access/admission.ts";
import { present } from "../evaluation/context.ts";
import { readBody } from "../http/body-limit.ts";
import { anyObject, listOf, objectOf, string } from "../http/openapi.ts";
import { pathId } from "../http/parameters.ts";
import type { Operation, Post } from "./definition.ts";
import { EVALUATION_FIELDS } from "./schemas.ts";

/** Explains step by step why a flag evaluates as it does. Needs `read`. */
export const explainFeatureFlag: Operation<
  Post<"/feature-flags/admin/flags/:id/explain", ExplainFeatureFlagInput | undefined, FlagExplanation>
> = {
  summary: "Explain how a flag evaluates",
  method: "POST",
  path: "/feature-flags/admin/flags/:id/explain",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  failure: "EVALUATION_ERROR",
  body: explainBody,
  result: () =>
    objectOf({
      result: objectOf(EVALUATION_FIELDS),
      steps: listOf(objectOf({ step: string, outcome: string, detail: anyObject })),
    }),
  // Any context may be claimed: a caller who may read the rules may know what they do.
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => pathId(request, "id"));
    const { context: claimed = {}, environment = service.options.environments?.default } = parseExplainInput(
      readBody(call),
    );
    const context = { ...present(claimed), ...(environment !== undefined && { environment }) };
    const { snapshot, found, stale } = await findById(service.store, scope.tenant, id);
    const { userId } = context;
    const override = userId === undefined ? undefined : snapshot.override(found.flag.id, userId, Date.now());
    const { result, steps } = found.compiled.explain(context, override);
    const { value, variant, reason, variantMetadata } = result;
    const metadata = {
      revision: snapshot.revision,
      ...(stale && { stale: true as const }),
      ...(variantMetadata && { variant: variantMetadata }),
    };
    return { result: { value, ...(variant !== undefined && { variant }), reason, metadata }, steps };
  },
};

async function findById(
  store: FlagStore,
  tenant: string,
  id: string,
): Promise<{ snapshot: Snapshot; found: SnapshotFlag; stale: boolean }> {
  // Throws when the flag does not exist.
  const { key } = await store.getFlag(tenant, id);
  let { snapshot, stale } = await store.snapshot(tenant);
  if (snapshot.flags.get(key)?.flag.id !== id) {
    // Another node has just created or renamed it.
    ({ snapshot, stale } = await store.snapshot(tenant, snapshot.revision + 1));
  }
  const found = snapshot.flags.get(key);
  if (found === undefined || found.flag.id !== id) throw notFound("flag");
  return { snapshot, found, stale };
}
