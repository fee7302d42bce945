/** How the service is: `GET /feature-flags/health`, in short for everybody, in full for those who may read flags. */
import { NO_TENANT } from "../model/flag.ts";
import type { StoreHealth } from "../store/store.ts";
import { judge } from "./access.ts";
import { answer, type Call } from "./call.ts";
import { confirm, homeOf, identifyEvaluator } from "./caller.ts";
import type { FastPathState, Service } from "./service.ts";

/** The version of this package; a test holds it to `package.json`. */
export const VERSION = "0.2.0";

export type FeatureFlagsHealth = {
  /** `degraded` while flags may be out of date, or cannot be changed. */
  readonly status: "ok" | "degraded";
  readonly version: string;
} & Partial<HealthFigures>;

type HealthFigures = StoreHealth & {
  /** Whether requests are answered before Better Auth is entered. */
  readonly fastPath: FastPathState["state"];
  /** Why not. */
  readonly fastPathReason?: string;
};

export function getHealth(service: Service, call: Call): Promise<FeatureFlagsHealth> {
  return answer(call, "STORAGE_ERROR", async () => {
    // Whoever cannot be identified, for whatever reason, is told what everybody is told.
    const tenant = await readableTenant(service, call).catch(() => undefined);
    const health = await service.store.health(tenant ?? NO_TENANT).catch(() => undefined);
    const ok = health !== undefined && !health.stale && health.transactions !== "refused";
    return {
      status: ok ? "ok" : "degraded",
      version: VERSION,
      ...(tenant !== undefined && health !== undefined && figuresOf(health, service.fastPath)),
    };
  });
}

function figuresOf(health: StoreHealth, fastPath: FastPathState): HealthFigures {
  return {
    ...health,
    fastPath: fastPath.state,
    ...(fastPath.state === "off" && { fastPathReason: fastPath.reason }),
  };
}

/** The tenant whose figures the caller may see, if any. */
async function readableTenant(service: Service, call: Call): Promise<string | undefined> {
  const caller = await identifyEvaluator(call);
  if (caller.kind === "server") return NO_TENANT;
  if (caller.kind === "anonymous") return undefined;
  const sure = await confirm(call, caller);
  if ((await judge(service, call, sure, "read", NO_TENANT)) === "granted") return NO_TENANT;
  const home = service.options.multiTenant === true ? await homeOf(call, sure) : undefined;
  if (home === undefined) return undefined;
  return (await judge(service, call, sure, "read", home)) === "granted" ? home : undefined;
}
