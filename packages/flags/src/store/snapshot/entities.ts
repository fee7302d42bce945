/** The entities of a snapshot, from which its flags are compiled. */
import type { OverrideDefinition } from "../../engine/definition.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagRule } from "../../model/rule.ts";
import type { FlagSegment } from "../../model/segment.ts";

/** An override for evaluation. */
export interface SnapshotOverride extends OverrideDefinition {
  readonly id: string;
  /** `Infinity` if it does not expire. */
  readonly expiresAtMs: number;
}

/** The entities of a snapshot: rules by flag and id, overrides by flag and user, the others by id. */
export interface Contents {
  readonly flags: ReadonlyMap<string, FeatureFlag>;
  readonly rules: ReadonlyMap<string, ReadonlyMap<string, FlagRule>>;
  readonly segments: ReadonlyMap<string, FlagSegment>;
  readonly overrides: ReadonlyMap<string, ReadonlyMap<string, SnapshotOverride>>;
}
