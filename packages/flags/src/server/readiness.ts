/** Whether this process should be sent requests: `GET /feature-flags/ready`, for load balancers and rolling deploys. */
import { NO_TENANT } from "../model/flag.ts";
import { within } from "../store/wait.ts";
import { answer, type Call } from "./call.ts";
import type { Service } from "./service.ts";

export type FeatureFlagsReadiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: "closing" | "no flags yet" };

/** Whoever asks has little patience, and asks again. */
const WAIT_MS = 1000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Ready is whoever can answer an evaluation, were it from memory while the database is down: taking such a process out
 * would make things worse. How well it is, health says.
 */
export function getReadiness(service: Service, call: Call): Promise<FeatureFlagsReadiness> {
  return answer(call, "STORAGE_ERROR", async () => {
    if (service.isClosed()) return refuse(call, "closing");
    try {
      await within(service.store.snapshot(NO_TENANT), WAIT_MS, "There was no answer yet.");
      return { ready: true };
    } catch {
      // What is wrong has been logged by the store; it is not for everybody.
      return refuse(call, "no flags yet");
    }
  });
}

function refuse(call: Call, reason: "closing" | "no flags yet"): FeatureFlagsReadiness {
  call.setStatus(503);
  call.setHeader("retry-after", String(RETRY_AFTER_SECONDS));
  return { ready: false, reason };
}
