/** Creates the trusted attributes of an auth instance, with their metrics and log entries. */
import type { TrustedRoot } from "../../engine/definition.ts";
import type { TrustedOptions } from "../../model/trusted.ts";
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import type { HostContext } from "../http/host-request.ts";
import type { ComputeOutcome, ReadableMeter } from "../metrics/meter.ts";
import { rarely } from "../metrics/rarely.ts";
import type { TrustedModel } from "./check-options.ts";
import { createHostRows } from "./host-rows.ts";
import { TrustedAttributes } from "./trusted-attributes.ts";

export interface TrustedHost {
  readonly context: HostContext;
  readonly meter: ReadableMeter;
  readonly warn: (message: string, error: unknown) => void;
}

export function createTrusted(options: TrustedOptions, host: TrustedHost): TrustedAttributes {
  const { context, meter, warn } = host;
  const warnRarely = rarely(warn);
  const isIsolated = areRequestsIsolated();
  const trusted = new TrustedAttributes({
    options,
    rows: createHostRows(context, isIsolated),
    isIsolated,
    onCompute(outcome: ComputeOutcome, error?: unknown) {
      meter.computed(outcome);
      if (outcome !== "computed") warnRarely(COMPUTE_FAILED, error);
    },
    onUnread: (model: TrustedModel, error: unknown) => warnRarely(readFailed(model), error),
    onUnreadable: (root: TrustedRoot) => meter.unreadable(root),
  });
  meter.observe(
    "trusted_remembered",
    "Rows and computed results of trusted attributes in memory.",
    () => trusted.size,
  );
  return trusted;
}

const COMPUTE_FAILED =
  "trusted.compute failed. Its last result is used for 10 minutes; after that, rules that read trusted.* are skipped. Correct the function, or the service that it calls.";

function readFailed(model: TrustedModel): string {
  return `The trusted attributes of a ${model} could not be read. The last values are used for 10 minutes; after that, rules that read ${model}.* are skipped.`;
}
