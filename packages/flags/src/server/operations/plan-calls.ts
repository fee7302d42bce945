/** The type of `planFeatureFlags`, whose result depends on its input. */
import type { FeatureFlagPlan, FeatureFlagPreview, PlanFeatureFlagsInput } from "../../model/plan.ts";
import type { EntityQuery } from "./definition.ts";
import type { CallOptions, CallResult } from "./method-type.ts";

/** How `planFeatureFlags` is called: with `preview: true`, the result has no id. */
export type PlanMethod = <
  Preview extends boolean = false,
  AsResponse extends boolean = false,
  WithHeaders extends boolean = false,
  WithStatus extends boolean = false,
>(
  call: {
    body: PlanFeatureFlagsInput & { preview?: Preview | undefined };
    query?: EntityQuery | undefined;
  } & CallOptions<AsResponse, WithHeaders, WithStatus>,
) => Promise<CallResult<PlanResult<Preview>, AsResponse, WithHeaders, WithStatus>>;

type PlanResult<Preview extends boolean> = [Preview] extends [true] ? FeatureFlagPreview : FeatureFlagPlan;
