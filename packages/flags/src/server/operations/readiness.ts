/** Whether this process should receive requests: `GET /feature-flags/ready`, for load balancers and rolling deploys. */
import { within } from "@halyard/base";
import { NO_TENANT } from "../../model/flag.ts";
import { COLD_RETRY_SECONDS } from "../../store/snapshot/errors.ts";
import type { HostRequest } from "../http/host-request.ts";
import { boolean, objectOf, oneOf, string } from "../http/openapi.ts";
import type { Get, NoQuery, PublicOperation } from "./definition.ts";

/** Whether this process can evaluate flags, and the reason if it cannot. */
export type FeatureFlagsReadiness =
  | {
      /** Always true for 200. */
      readonly ready: true;
      /** The database is read-only or cannot be reached: flags are evaluated from memory and cannot be changed. */
      readonly writes?: "refused";
    }
  | { readonly ready: false; readonly reason: "closing" | "no flags yet" };

/** A load balancer does not wait long, and asks again. */
const WAIT_MS = 1000;

/**
 * Gives whether this process can evaluate flags: 200, or 503 with the reason. A process is ready when it can evaluate
 * flags, even if only from its in-memory snapshot: removing it while the database is down would make things worse.
 */
export const getFeatureFlagsReadiness: PublicOperation<
  Get<"/feature-flags/ready", NoQuery, FeatureFlagsReadiness>
> = {
  summary: "Whether this process can evaluate flags; 503 when it cannot",
  method: "GET",
  path: "/feature-flags/ready",
  scope: "server",
  action: "public",
  rateLimit: "none",
  result: () => objectOf({ ready: boolean, reason: string, writes: oneOf("refused") }, ["ready"]),
  async run({ service, request }) {
    if (service.isClosed()) return refuse(request, "closing");
    try {
      await within(
        Promise.resolve(service.store.snapshot(NO_TENANT)),
        WAIT_MS,
        "The flags were not read in time.",
      );
      const { writes } = service.store.figures();
      return { ready: true, ...(writes === "refused" && { writes }) };
    } catch {
      // The store has logged the cause, which is not public.
      return refuse(request, "no flags yet");
    }
  },
};

function refuse(request: HostRequest, reason: "closing" | "no flags yet"): FeatureFlagsReadiness {
  request.setStatus(503);
  request.setHeader("retry-after", String(COLD_RETRY_SECONDS));
  return { ready: false, reason };
}
