/** The health of the service: `GET /feature-flags/health`, in short for everyone, in full for callers with `read`. */
import { NO_TENANT } from "../../model/flag.ts";
import type { IgnoredFlag, StoreHealth } from "../../store/flag-store.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import { boolean, integer, listOf, number, objectOf, oneOf, string } from "../http/openapi.ts";
import type { FastPathState } from "../service.ts";
import { VERSION } from "../version.ts";
import type { Get, NoQuery, PublicOperation } from "./definition.ts";
import { listIgnoredFlags } from "./ignored-flags.ts";

/** The health of the service. Only `status` and `version` are public. */
export type FeatureFlagsHealth = {
  /** `degraded` while flags may be out of date, or cannot be changed. */
  readonly status: "ok" | "degraded";
  /** The version of this package. */
  readonly version: string;
} & Partial<HealthFigures>;

type HealthFigures = StoreHealth & {
  /**
   * Changes of flags that this process has loaded since its start, of all organizations evaluated in the last minute.
   * Only for callers who may read all of them.
   */
  readonly changes?: number;
  /** Whether the fast path answers requests. */
  readonly fastPath: FastPathState["state"];
  /** Why the fast path is off. */
  readonly fastPathReason?: string;
  /**
   * With `multiTenant`: flags of organizations that evaluation ignores, because a global flag that organizations may not
   * replace has their key. At most 100, and at most 10 s old. Absent if they cannot be read now.
   */
  readonly ignoredFlags?: readonly IgnoredFlag[];
};

/** Gives the health of the service; in full for server code and callers with `read`. */
export const getFeatureFlagsHealth: PublicOperation<
  Get<"/feature-flags/health", NoQuery, FeatureFlagsHealth>
> = {
  summary: "Health of the service",
  method: "GET",
  path: "/feature-flags/health",
  scope: "server",
  action: "public",
  rateLimit: "none",
  result: () =>
    objectOf(
      {
        status: oneOf("ok", "degraded"),
        version: string,
        revision: integer,
        snapshotAgeMs: number,
        stale: boolean,
        problem: string,
        changes: integer,
        writes: oneOf("accepted", "refused"),
        writeTimeouts: oneOf("set", "missing", "unknown"),
        transactions: oneOf("unproven", "ok", "refused"),
        bus: oneOf("off", "up", "down"),
        fastPath: oneOf("on", "off"),
        fastPathReason: string,
        ignoredFlags: listOf(objectOf({ organizationId: string, key: string })),
      },
      ["status", "version"],
    ),
  async run(call) {
    const { service } = call;
    // A caller who cannot be identified, for whatever reason, gets the short form.
    const tenant = await readableTenant(call).catch(() => undefined);
    const [health, ignoredFlags] = await Promise.all([
      service.store.health(tenant ?? NO_TENANT).catch(() => undefined),
      tenant === undefined ? undefined : listIgnoredFlags(service, tenant),
    ]);
    const isOk =
      health !== undefined &&
      !health.stale &&
      health.writes === "accepted" &&
      health.transactions !== "refused";
    return {
      status: isOk ? "ok" : "degraded",
      version: VERSION,
      ...(tenant !== undefined && health !== undefined && figuresOf(health, service.fastPath)),
      ...(tenant === NO_TENANT && health !== undefined && { changes: service.store.figures().changes }),
      ...(ignoredFlags !== undefined && { ignoredFlags }),
    };
  },
};

function figuresOf(health: StoreHealth, fastPath: FastPathState): HealthFigures {
  return {
    ...health,
    fastPath: fastPath.state,
    ...(fastPath.state === "off" && { fastPathReason: fastPath.reason }),
  };
}

/** The tenant whose figures the caller may see, if any. */
async function readableTenant(call: Call): Promise<string | undefined> {
  const { service, identity } = call;
  const caller = await identity.evaluator();
  if (caller.kind === "server") return NO_TENANT;
  if (caller.kind === "anonymous") return undefined;
  const confirmed = await identity.confirm(caller);
  if ((await judge(call, confirmed, "read", NO_TENANT)) === "granted") return NO_TENANT;
  const home = service.options.multiTenant === true ? await identity.homeOf(confirmed) : undefined;
  if (home === undefined) return undefined;
  return (await judge(call, confirmed, "read", home)) === "granted" ? home : undefined;
}
