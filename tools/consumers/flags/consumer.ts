/** What a user of @halyard/flags may write, with the types they may rely on. Compiled against the packed tarball. */

import { FEATURE_FLAG_ERROR_CODES, type FeatureFlag, featureFlags, type JsonValue } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { admin } from "better-auth/plugins";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

export const auth = betterAuth({
  secret: "a secret for a program that is only compiled",
  plugins: [admin(), featureFlags({ schema: { featureFlag: { modelName: "feature_flag" } } })],
});

export async function decide(headers: Headers): Promise<boolean> {
  const flag = await auth.api.createFeatureFlag({
    body: { key: "new-checkout", name: "New checkout", type: "boolean", enabled: true, defaultValue: true },
  });
  assertEqual<typeof flag, FeatureFlag>();

  const full = await auth.api.evaluateFeatureFlag({ body: { flagKey: flag.key }, headers });
  assertEqual<typeof full.value, JsonValue>();
  full.reason satisfies string;

  const short = await auth.api.evaluateFeatureFlag({ body: { flagKey: flag.key, select: "value" } });
  // @ts-expect-error only the value was asked for
  short.reason;
  // @ts-expect-error a flag is asked for by its key
  await auth.api.evaluateFeatureFlag({ body: {} });

  // The plugins beside it keep their types.
  assertEqual<ReturnType<typeof auth.api.listUsers> extends Promise<unknown> ? true : false, true>();
  FEATURE_FLAG_ERROR_CODES satisfies object;
  return short.value === true;
}
