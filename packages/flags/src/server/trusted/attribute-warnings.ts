/** Warnings about the attributes that written conditions read: misspelt ones, and claimed ones that could be trusted. */
import type { RuleConditions, TrustedRoot } from "../../engine/definition.ts";
import { isTrustedRoot, parsePath, TRUSTED_ROOTS } from "../../engine/path.ts";
import type { TrustedOptions } from "../../model/trusted.ts";
import type { FlagWarning, WithWarnings } from "../../model/warning.ts";
import { nearestName } from "../nearest-name.ts";
import { pathsOf } from "./check-options.ts";

const DESCRIBED: Readonly<Record<"device" | "geo", readonly string[]>> = {
  device: ["type", "os", "browser", "model"],
  geo: ["country", "region", "city", "timezone"],
};
const NAMES = ["userId", "email", "role", "organizationId", "anonymousId", "environment", "organizationRole"];
const ROOTS = ["attributes", ...Object.keys(DESCRIBED), ...TRUSTED_ROOTS];
const MAX_WARNINGS = 20;
/** A shorter name resembles too many others. */
const MIN_LENGTH = 4;

/** Adds the warnings about its conditions to what a write returns. Without warnings it stays as it is. */
export function withAttributeWarnings<Written extends { readonly conditions: RuleConditions }>(
  trusted: TrustedOptions | undefined,
  written: WithWarnings<Written>,
): WithWarnings<Written> {
  const warnings = attributeWarnings(trusted, written.conditions);
  return warnings.length === 0
    ? written
    : { ...written, warnings: [...(written.warnings ?? []), ...warnings] };
}

/** Without the conditions of segments, which are checked when they are written. */
function attributeWarnings(
  trusted: TrustedOptions | undefined,
  conditions: RuleConditions,
): readonly FlagWarning[] {
  const attributes = new Set<string>();
  const visit = (group: RuleConditions): void => {
    for (const member of group.conditions) {
      if ("conditions" in member) visit(member);
      else if ("attribute" in member) attributes.add(member.attribute);
    }
    if (group.not !== undefined) visit(group.not);
  };
  visit(conditions);
  return [...attributes]
    .map((attribute) => warningAbout(trusted ?? {}, attribute))
    .filter((warning) => warning !== undefined)
    .slice(0, MAX_WARNINGS);
}

function warningAbout(trusted: TrustedOptions, attribute: string): FlagWarning | undefined {
  const { root, steps } = parsePath(attribute);
  const [field = "", ...further] = steps;
  if (isTrustedRoot(root)) return aboutTrusted(trusted, attribute, root, field);
  if (root === "device" || root === "geo") return aboutDescribed(attribute, root, field);
  // With `attributes.` in front, the author means what callers send.
  if (root !== "attributes" || attribute.startsWith("attributes.")) return undefined;
  return further.length === 0 ? aboutName(trusted, field) : aboutRoot(trusted, attribute, field, further);
}

function aboutTrusted(
  trusted: TrustedOptions,
  attribute: string,
  root: TrustedRoot,
  field: string,
): FlagWarning | undefined {
  if (root === "trusted") {
    if (trusted.compute !== undefined) return undefined;
    return alwaysMissing(attribute, undefined, `Return "${field}" from the option trusted.compute.`);
  }
  const listed = trusted[root] ?? [];
  if (listed.includes(field)) return undefined;
  const nearest = nearestName(field, listed);
  const remedy = `To use it, add "${field}" to the option trusted.${root}.`;
  return alwaysMissing(attribute, nearest && `${root}.${nearest}`, remedy);
}

function aboutDescribed(
  attribute: string,
  root: keyof typeof DESCRIBED,
  field: string,
): FlagWarning | undefined {
  const fields = DESCRIBED[root];
  if (fields.includes(field)) return undefined;
  const nearest = nearestName(field, fields);
  return alwaysMissing(attribute, nearest && `${root}.${nearest}`, `The fields are ${fields.join(", ")}.`);
}

/** A bare name is read from what callers send. */
function aboutName(trusted: TrustedOptions, name: string): FlagWarning | undefined {
  const paths = pathsOf(trusted);
  const same = paths.find((path) => fieldOf(path) === name);
  if (same !== undefined) {
    const message = `"${name}" is what callers claim. Write "${same}" for the value in the database, or "attributes.${name}" for the claim.`;
    return { code: "CLAIMED_ATTRIBUTE", message };
  }
  if (NAMES.includes(name) || name.length < MIN_LENGTH) return undefined;
  const nearest = nearestName(name, [...NAMES, ...paths.map(fieldOf)], 1);
  if (nearest === undefined) return undefined;
  return onlyClaimed(name, paths.find((path) => fieldOf(path) === nearest) ?? nearest);
}

function aboutRoot(
  trusted: TrustedOptions,
  attribute: string,
  first: string,
  further: readonly string[],
): FlagWarning | undefined {
  // A short name counts as misspelt only if the rest of the path is a trusted field.
  const field = further.join(".");
  const known = pathsOf(trusted).filter((path) => fieldOf(path) === field);
  const roots = first.length < MIN_LENGTH ? known.map((path) => path.slice(0, path.indexOf("."))) : ROOTS;
  const nearest = nearestName(first, roots, 1);
  return nearest === undefined ? undefined : onlyClaimed(attribute, [nearest, ...further].join("."));
}

function fieldOf(path: string): string {
  return path.slice(path.indexOf(".") + 1);
}

function onlyClaimed(attribute: string, meant: string): FlagWarning {
  const message = `"${attribute}" has a value only if callers send it. Did you mean "${meant}"? If callers send it, write "attributes.${attribute}".`;
  return { code: "UNKNOWN_ATTRIBUTE", message };
}

function alwaysMissing(attribute: string, meant: string | undefined, remedy: string): FlagWarning {
  const question = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  return { code: "UNKNOWN_ATTRIBUTE", message: `"${attribute}" is always missing.${question} ${remedy}` };
}
