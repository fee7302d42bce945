/** Tells the meter how every request over HTTP was answered, and how long it took. */
import { isAPIError } from "better-auth/api";
import type { Call } from "./call.ts";
import type { Service } from "./service.ts";

/** Runs an operation and measures it. Calls by server code are no requests. */
export async function measure<Output>(
  name: string,
  service: Service,
  call: Call,
  operation: (service: Service, call: Call) => Promise<Output>,
): Promise<Output> {
  if (call.request === undefined) return operation(service, call);
  const startedAtMs = performance.now();
  let status = 500;
  try {
    const output = await operation(service, call);
    status = statusOf(call);
    return output;
  } catch (error) {
    if (isAPIError(error)) status = error.statusCode;
    throw error;
  } finally {
    service.meter.answered(name, status, performance.now() - startedAtMs);
  }
}

/** What `setStatus` has set; the type of a call does not say that it can be read. */
function statusOf(call: Call): number {
  return "responseStatus" in call && typeof call.responseStatus === "number" ? call.responseStatus : 200;
}
