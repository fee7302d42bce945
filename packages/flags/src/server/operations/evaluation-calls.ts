/** The types of the methods that evaluate. Their results depend on `select`, and on the flags that were declared. */
import type { FlagDeclarations, FlagKey, FlagValue } from "../../model/declared.ts";
import type {
  BatchResult,
  BootstrapFeatureFlagsInput,
  BootstrapResult,
  EvaluateFeatureFlagInput,
  EvaluateFeatureFlagsInput,
  EvaluationResult,
  EvaluationSelect,
} from "../../model/evaluation.ts";
import type { CallOptions, CallResult } from "./method-type.ts";

/** The body of an evaluation of a declared flag. Any key and value where no flags are declared. */
export type DeclaredEvaluation<
  Flags extends FlagDeclarations,
  Key extends FlagKey<Flags>,
  Select extends EvaluationSelect = EvaluationSelect,
  Default extends FlagValue<Flags, Key> | undefined = FlagValue<Flags, Key> | undefined,
> = Omit<EvaluateFeatureFlagInput<Select>, "flagKey" | "default"> & {
  /** The key of the flag. */
  flagKey: Key;
  /** The value for a flag that does not exist. Default `null`. */
  default?: Default;
};

/** Evaluates one flag. The value is `null` only for a flag that does not exist, if the call has no `default`. */
export type EvaluateMethod<Flags extends FlagDeclarations> = <
  const Key extends FlagKey<Flags>,
  const Select extends EvaluationSelect = "full",
  const Default extends FlagValue<Flags, Key> | undefined = undefined,
  AsResponse extends boolean = false,
  WithHeaders extends boolean = false,
  WithStatus extends boolean = false,
>(
  call: { body: DeclaredEvaluation<Flags, Key, Select, Default> } & CallOptions<
    AsResponse,
    WithHeaders,
    WithStatus
  >,
) => Promise<
  CallResult<
    EvaluationResult<Select, FlagValue<Flags, Key> | (Default extends undefined ? null : never)>,
    AsResponse,
    WithHeaders,
    WithStatus
  >
>;

/** Evaluates many flags. */
export type BatchMethod = <
  const Select extends EvaluationSelect = "full",
  AsResponse extends boolean = false,
  WithHeaders extends boolean = false,
  WithStatus extends boolean = false,
>(
  call: { body: EvaluateFeatureFlagsInput<Select> } & CallOptions<AsResponse, WithHeaders, WithStatus>,
) => Promise<CallResult<BatchResult<Select>, AsResponse, WithHeaders, WithStatus>>;

/** Evaluates all flags that the caller may see. */
export type BootstrapMethod = <
  const Select extends EvaluationSelect = "full",
  AsResponse extends boolean = false,
  WithHeaders extends boolean = false,
  WithStatus extends boolean = false,
>(
  call: { body: BootstrapFeatureFlagsInput<Select> } & CallOptions<AsResponse, WithHeaders, WithStatus>,
) => Promise<CallResult<BootstrapResult<Select>, AsResponse, WithHeaders, WithStatus>>;
