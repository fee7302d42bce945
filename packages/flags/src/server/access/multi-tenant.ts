/** Refuses fields that have a meaning only with the option `multiTenant`. */
import { invalid } from "../../model/inputs.ts";
import type { Service } from "../service.ts";

/** Throws if the fields of a flag need the option. */
export function requireMultiTenant(
  { options }: Pick<Service, "options">,
  { tenantOverridable }: { readonly tenantOverridable?: boolean | undefined },
): void {
  if (tenantOverridable !== true || options.multiTenant === true) return;
  throw invalid([{ path: "tenantOverridable", message: "needs the option multiTenant; leave it out" }]);
}
