/** Administration of flags: `POST /feature-flags/admin/flags` and `auth.api.createFeatureFlag`. */
import { type FeatureFlag, NO_ORGANIZATION } from "../model/flag.ts";
import { parseCreateInput } from "../model/inputs.ts";
import type { FlagStore } from "../store/store.ts";
import { requireAction } from "./access.ts";
import { answer, type Call } from "./call.ts";

export function createFlag(call: Call, store: FlagStore): Promise<FeatureFlag> {
  return answer(call, "STORAGE_ERROR", async () => {
    // Who may not create a flag does not learn what a valid one looks like.
    const actor = await requireAction(call, "create");
    const flag = await store.createFlag(NO_ORGANIZATION, parseCreateInput(call.body), actor);
    call.setStatus(201);
    return flag;
  });
}
