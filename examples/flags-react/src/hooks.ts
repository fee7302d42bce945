/** The hooks of `@halyard/flags/react`, which now know this shop's flags. */
import { createFlagHooks } from "@halyard/flags/react";
import { flags } from "./flags.ts";

export const { useFeatureFlag, useFeatureFlagDetails } = createFlagHooks(flags);
