/** Where the attributes of a context come from, as explanations show it. */
import type { OriginOf } from "../../engine/explain.ts";
import { isTrustedRoot } from "../../engine/path.ts";
import type { TrustedOptions } from "../../model/trusted.ts";
import type { TrustedSubject } from "./trusted-attributes.ts";

/**
 * `verified`: the caller's session or API key. `claimed`: the caller's word. `request`: the request, such as its
 * headers. `store`: the host's database. `self_declared`: the same, but users may write the field. `computed`: the host's
 * `compute`. `withheld`: the caller may not look it up.
 */
type Origin = "verified" | "claimed" | "request" | "store" | "self_declared" | "computed" | "withheld";

const REQUEST: ReadonlySet<string> = new Set(["environment", "device", "geo"]);
const IDENTITY: ReadonlySet<string> = new Set(["userId", "email", "role", "organizationId"]);

/** `subject` is undefined for an anonymous visitor. */
export function originsOf(
  options: TrustedOptions | undefined,
  subject: TrustedSubject | undefined,
): OriginOf {
  return ({ root, steps }): Origin => {
    const [field = ""] = steps;
    if (REQUEST.has(root)) return "request";
    const isIdentity = IDENTITY.has(root) || (root === "attributes" && field === "organizationRole");
    if (isIdentity && subject?.isVerified) return "verified";
    if (!isTrustedRoot(root)) return "claimed";
    const claimed = subject?.claims?.[root];
    if (claimed !== undefined && Object.hasOwn(claimed, field)) return "claimed";
    if (subject?.isWithheld) return "withheld";
    if (root === "trusted") return "computed";
    return options?.selfDeclared?.includes(`${root}.${field}`) ? "self_declared" : "store";
  };
}
