import { expect, test } from "vitest";

// A new public name must change this file, so that a review sees it.
test.each([
  [
    "@halyard/flags/engine",
    ["checkConditions", "checkReferences", "compileFlag", "countRegex", "murmur3", "segmentsOf"],
  ],
  ["@halyard/flags/node", ["toNodeHandler"]],
  ["@halyard/flags/console", ["changedParts", "openConsolePort", "partsOf", "patchEnvironments", "valueAt"]],
  ["@halyard/flags/redis", ["redisBus", "redisRateLimitStore"]],
  ["@halyard/flags/client", ["defineFlags", "featureFlagsClient"]],
  ["@halyard/flags/admin-client", ["featureFlagsAdminClient"]],
  [
    "@halyard/flags/react",
    [
      "FeatureFlagsProvider",
      "createFlagHooks",
      "useFeatureFlag",
      "useFeatureFlagDetails",
      "useFeatureFlags",
      "useFlagsStatus",
      "useVariant",
    ],
  ],
  ["@halyard/flags/live", ["Changed", "Watch", "flagDefinitions", "liveFlags"]],
  ["@halyard/flags/live-client", ["featureFlagsLiveClient"]],
  ["@halyard/flags/remote", ["createRemoteFlags"]],
  ["@halyard/flags/openfeature", ["createRemoteProvider", "createServerProvider"]],
  ["@halyard/flags/openfeature/web", ["createWebProvider"]],
  ["@halyard/flags/testing", ["testFlags"]],
  ["@halyard/flags/unstable-devtools", ["NO_POSITION", "findMisfit"]],
])("%s exports exactly the names it promises", async (entry, names) => {
  expect(Object.keys(await import(entry)).sort()).toEqual(names);
});
