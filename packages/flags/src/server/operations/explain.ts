/** The operation that explains an evaluation step by step: `POST /feature-flags/admin/flags/:id/explain`. */
import type { ExplainFeatureFlagInput } from "../../model/evaluation.ts";
import { explainBody, parseExplainInput } from "../../model/evaluation-input.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagStore, Snapshot, SnapshotFlag } from "../../store/flag-store.ts";
import { notFound } from "../../store/rows/entity.ts";
import { admitToEntity } from "../access/admission.ts";
import { present } from "../evaluation/context.ts";
import { isIgnored } from "../evaluation/tenant-flags.ts";
import { explainedSubject, withRoots } from "../evaluation/trusted-subject.ts";
import { readBody } from "../http/body-limit.ts";
import { anyObject, boolean, listOf, objectOf, string } from "../http/openapi.ts";
import { entityId } from "../http/parameters.ts";
import { originsOf } from "../trusted/origins.ts";
import type { Operation, Post } from "./definition.ts";
import { ENTITY_QUERY, EVALUATION_FIELDS } from "./schemas.ts";

/** Explains step by step why a flag evaluates as it does. The id may be the key. Needs `read`. */
export const explainFeatureFlag: Operation<
  Post<"/feature-flags/admin/flags/:id/explain", ExplainFeatureFlagInput | undefined>
> = {
  summary: "Explain how a flag evaluates",
  method: "POST",
  path: "/feature-flags/admin/flags/:id/explain",
  scope: "server",
  action: "read",
  rateLimit: "admin",
  failure: "EVALUATION_ERROR",
  query: ENTITY_QUERY,
  body: explainBody,
  result: () =>
    objectOf({
      result: objectOf(EVALUATION_FIELDS),
      steps: listOf(objectOf({ step: string, outcome: string, detail: anyObject })),
      ignored: boolean,
    }),
  // Any context may be claimed: a caller who may read the rules may know what they do. Trusted attributes of the ids
  // in it are looked up for callers with `evaluate-as` only.
  async run(call) {
    const { service, request } = call;
    const { scope, id } = await admitToEntity(call, "flag", () => entityId(request, "id"));
    const { context: claimed = {}, environment = service.options.environments?.default } = parseExplainInput(
      readBody(call),
    );
    const { snapshot, found, stale } = await findById(service.store, scope.tenant, id);
    const named = present({ ...claimed, environment });
    const caller = await call.identity.administrator();
    const subject = await explainedSubject(call, caller, scope.tenant, claimed);
    const { context } = await withRoots(service, { context: named, subject }, found.compiled.trustedRoots);
    const { userId } = context;
    const override = userId === undefined ? undefined : snapshot.override(found.flag.id, userId, Date.now());
    const originOf = originsOf(service.options.trusted, subject);
    const { result, steps } = found.compiled.explain(context, override, originOf);
    const { value, variant, reason, variantMetadata } = result;
    const metadata = {
      revision: snapshot.revision,
      ...(stale && { stale: true as const }),
      ...(variantMetadata && { variant: variantMetadata }),
    };
    const global =
      scope.tenant === NO_TENANT ? undefined : (await service.store.snapshot(NO_TENANT)).snapshot;
    return {
      result: { value, ...(variant !== undefined && { variant }), reason, metadata },
      steps,
      ...(global !== undefined && isIgnored(found.flag.key, global) && { ignored: true }),
    };
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
