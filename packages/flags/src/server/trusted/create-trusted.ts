/** Creates the trusted attributes of an auth instance, with their metrics and log entries. */
import type { Identities, RowChange } from "@halyard/sessions/plugin";
import type { TrustedRoot } from "../../engine/definition.ts";
import type { TrustedOptions } from "../../model/trusted.ts";
import { areRequestsIsolated } from "../../store/isolated-requests.ts";
import { HostTables } from "../../store/postgres/host-tables.ts";
import type { PostgresPool } from "../../store/postgres/pool.ts";
import type { HostContext } from "../http/host-request.ts";
import type { ComputeOutcome, ReadableMeter } from "../metrics/meter.ts";
import { rarely } from "../metrics/rarely.ts";
import { TRUSTED_MODELS, type TrustedModel } from "./check-options.ts";
import { createHostRows } from "./host-rows.ts";
import { TrustedAttributes } from "./trusted-attributes.ts";

export interface TrustedHost {
  readonly context: HostContext;
  readonly postgres: PostgresPool | undefined;
  readonly identities: Identities;
  readonly meter: ReadableMeter;
  readonly warn: (message: string, error: unknown) => void;
}

export function createTrusted(options: TrustedOptions, host: TrustedHost): TrustedAttributes {
  const { context, postgres, identities, meter, warn } = host;
  const warnRarely = rarely(warn);
  const trusted = new TrustedAttributes({
    options,
    rows: createHostRows(context, HostTables.on(context, postgres)),
    isIsolated: areRequestsIsolated(),
    onCompute(outcome: ComputeOutcome, error?: unknown) {
      meter.computed(outcome);
      if (outcome !== "computed") warnRarely(COMPUTE_FAILED, error);
    },
    onRead(model: TrustedModel, error: unknown) {
      if (error !== undefined) warnRarely(readFailed(model), error);
    },
    onUnreadable: (root: TrustedRoot) => meter.unreadable(root),
  });
  identities.changeListeners.add((change) => applyTo(trusted, change));
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

function applyTo(trusted: TrustedAttributes, change: RowChange): void {
  switch (change.kind) {
    case "user":
      return trusted.changed("user", change.id);
    case "session":
      return trusted.changed("session", change.id);
    // Rows are found by the token, which these do not have.
    case "session-rows":
    case "session-print":
    case "session-id":
      return trusted.changed("session");
    case "organization":
    case "organization-row":
      return trusted.changed("organization", change.id);
    case "member":
      return;
    case "unknown":
      for (const model of TRUSTED_MODELS) trusted.changed(model);
  }
}
