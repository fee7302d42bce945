/** Flags of an organization for the comparison of both paths. */
import type { BothPaths } from "./both-paths.ts";
import type { People } from "./generated-requests.ts";

/** Creates flags of an organization that replace a global flag, and some that may not. For instances with `multiTenant`. */
export async function plantInOrganization({ api }: BothPaths, { organizations }: People): Promise<string[]> {
  const create = (key: string, organizationId: string, fields: object = {}) =>
    api.createFeatureFlag({
      body: { key, name: "N", type: "string", enabled: true, defaultValue: key, organizationId, ...fields },
    });
  const [organization = ""] = organizations;
  const keys = ["own", "replaced", "ignored", "ignored-hidden"];
  await create("replaced", "", { tenantOverridable: true });
  for (const key of keys) await create(key, organization, { defaultValue: "of the organization" });
  await create("ignored", "");
  await create("ignored-hidden", "", { visibility: "server" });
  return keys;
}
