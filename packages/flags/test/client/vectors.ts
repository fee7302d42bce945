/** Reads the golden vectors, and flags of every type, through a client from a real server. Runs on every runtime. */
import { type FeatureFlagsClientOptions, featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { golden, type Outcome } from "../engine/golden.ts";

export interface VectorServers {
  /** Has the boolean flags of `golden.rollouts`, each percentage an environment `p<percentage>`. */
  readonly rollouts: string;
  /** Has the flags of `golden.variants`. */
  readonly variants: string;
}

/** Users and the results of each call, as text. */
export type Answers = Readonly<Record<string, unknown>>;

export function clientOf(
  origin: string,
  options: FeatureFlagsClientOptions = {},
  headers: Record<string, string> = {},
) {
  return createAuthClient({
    baseURL: origin,
    plugins: [featureFlagsClient({ exposures: false, ...options })],
    fetchOptions: { headers: { origin, ...headers } },
  }).featureFlags;
}

/** Creates a client for each golden id and compares its values with the golden ones. */
export async function runClientVectors(
  servers: VectorServers,
): Promise<Pick<Outcome, "checked" | "failures">> {
  let checked = 0;
  const failures: string[] = [];
  const check = (what: string, got: unknown, wanted: unknown): void => {
    checked += 1;
    if (got !== wanted) failures.push(`${what}: ${String(got)} instead of ${String(wanted)}`);
  };
  const percentages = [...new Set(golden.rollouts.map(({ percentage }) => percentage))];
  for (const [index, userId] of golden.ids.entries()) {
    for (const percentage of percentages) {
      const flags = clientOf(servers.rollouts, { context: { userId }, environment: `p${percentage}` });
      for (const rollout of golden.rollouts) {
        if (rollout.percentage !== percentage) continue;
        const isIn = await flags.isEnabled(rollout.key);
        check(`rollout ${rollout.key} ${percentage} ${index}`, isIn, rollout.in.includes(index));
      }
    }
    const flags = clientOf(servers.variants, { context: { userId } });
    for (const { key, variants } of golden.variants)
      check(`variant ${key} ${index}`, await flags.getVariant(key), variants[index]);
  }
  return { checked, failures };
}

/** Reads every flag of `kindsOfFlags` with every helper. */
export async function readEverything(origin: string, headers: Record<string, string>): Promise<Answers> {
  const context = { attributes: { plan: "pro", email: "ann@example.com" } };
  const flags = clientOf(origin, { context }, headers);
  const keys = ["on", "off", "text", "number", "json", "by-rule", "own", "absent"];
  const [first, ...others] = await Promise.all([
    flags.bootstrap(),
    ...keys.map((key) => flags.getValue(key)),
  ]);
  return {
    all: first,
    values: others,
    enabled: await Promise.all(["on", "off", "absent"].map((key) => flags.isEnabled(key, true))),
    variants: await Promise.all(keys.map((key) => flags.getVariant(key))),
    defaults: await Promise.all(keys.map((key) => flags.getValue(key, "mine"))),
    reasons: keys.map((key) => flags.values().read(key)?.reason),
    tracked: (await flags.track("text", "clicked", 1)).success,
    batch: (await flags.trackBatch([{ flag: "text", event: "seen" }])).success,
  };
}
