/** Counts the evaluations of one flag by reason until they are written. */
import type { EvaluationReason } from "../../engine/definition.ts";

/** Every reason except `not_found`, which is not counted. */
export type CountedReason = Exclude<EvaluationReason, "not_found">;

export type ReasonCounts = { [Reason in CountedReason]: number };

/** Public fields instead of a map, because every evaluation increments one. */
export class EvaluationCounter {
  readonly tenant: string;
  readonly flagId: string;
  /** Whether the tally has this counter in its list. */
  isListed = false;
  ruleMatch = 0;
  override = 0;
  rollout = 0;
  default = 0;
  disabled = 0;

  constructor(tenant: string, flagId: string) {
    this.tenant = tenant;
    this.flagId = flagId;
  }

  add(reason: EvaluationReason): void {
    if (reason === "default") this.default += 1;
    else if (reason === "rule_match") this.ruleMatch += 1;
    else if (reason === "percentage_rollout") this.rollout += 1;
    else if (reason === "disabled") this.disabled += 1;
    else if (reason === "override") this.override += 1;
    else reason satisfies "not_found";
  }

  /** Returns the counts since the last call and resets them. */
  take(): ReasonCounts {
    const counts: ReasonCounts = {
      rule_match: this.ruleMatch,
      override: this.override,
      percentage_rollout: this.rollout,
      default: this.default,
      disabled: this.disabled,
    };
    this.ruleMatch = 0;
    this.override = 0;
    this.rollout = 0;
    this.default = 0;
    this.disabled = 0;
    return counts;
  }
}
