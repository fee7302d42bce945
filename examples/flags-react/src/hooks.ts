/** The hooks of `@halyard/flags/react` with the types of this shop's flags. */
import { createFlagHooks } from "@halyard/flags/react";
import { flags } from "./flags.ts";

export const { useFeatureFlag, useFeatureFlagDetails } = createFlagHooks(flags);
