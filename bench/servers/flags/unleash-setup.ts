/** The flags of the benches in Unleash, created by its API. It has no OR: two strategies share one rollout. */
import { COUNTRY, keys, LOGINS, PLANS, SHARE } from "../../engines/workload.ts";

export const ADMIN_TOKEN = "*:*.bench-admin";
export const FRONTEND_TOKEN = "*:development.bench-frontend";

const paying = { contextName: "plan", operator: "IN", values: PLANS };
const STRATEGIES = [
  [paying, { contextName: "country", operator: "IN", values: [COUNTRY] }],
  [paying, { contextName: "loginCount", operator: "NUM_GT", value: String(LOGINS) }],
];

export async function setUpUnleash(origin: string): Promise<void> {
  const features = "/api/admin/projects/default/features";
  const call = async (path: string, body?: unknown): Promise<Response> => {
    const response = await fetch(origin + path, {
      method: "POST",
      headers: { authorization: ADMIN_TOKEN, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    throw new Error(`Unleash answered ${path} with ${response.status}: ${await response.text()}`);
  };
  for (const name of keys) {
    const inDevelopment = `${features}/${name}/environments/development`;
    await call(features, { name, type: "release" });
    for (const constraints of STRATEGIES) {
      const parameters = { rollout: String(SHARE), stickiness: "userId", groupId: name };
      await call(`${inDevelopment}/strategies`, { name: "flexibleRollout", constraints, parameters });
    }
    await call(`${inDevelopment}/on`);
  }
}
