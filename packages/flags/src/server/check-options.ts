/** Checks the options of `featureFlags()` at start: unknown names and impossible values are refused by their names. */
import { isJsonValue } from "../engine/json.ts";
import type { FlagDeclaration } from "../model/declared.ts";
import { findMisfit } from "../model/declared-shape.ts";
import { FLAG_TYPES, fitsType, isFlagType } from "../model/flag.ts";
import { isKey, MAX_LINE } from "../model/inputs.ts";
import { createTables } from "../model/tables.ts";
import { checkBus } from "./bus.ts";
import { mistake } from "./help.ts";
import { DEFAULT_QUOTAS } from "./limits/rules.ts";
import { nearestName } from "./nearest-name.ts";
import type { FeatureFlagsOptions } from "./options.ts";

/** Checks the value of an option. `path` is its whole name, such as `events.retentionDays`. */
type Check = (path: string, value: unknown) => void;

/** One check per option. An option without one does not compile. */
const OPTIONS: Readonly<Record<keyof FeatureFlagsOptions, Check>> = {
  flags: checkDeclarations,
  multiTenant: oneOf(true, false),
  identity: oneOf("claimed", "verified"),
  trusted: checkedByItsOwner,
  environments: checkEnvironments,
  defaultVisibility: oneOf("public", "server"),
  context: group({ collect: oneOf(true, false) }),
  permission: checkFunction,
  events: group({ retentionDays: checkedByItsOwner, sinks: checkList }),
  poll: oneOf(true, false),
  postgres: checkedByItsOwner,
  bus: checkBus,
  rateLimit: checkRateLimit,
  fastPath: oneOf("force", false),
  online: checkFunction,
  onAuditHead: checkFunction,
  schema: checkTables,
};

/** Throws a `TypeError` that names the option, and for an unknown name the nearest known one. */
export function checkOptions(options: FeatureFlagsOptions): void {
  checkGroup("", options, OPTIONS);
}

/** The file that uses the option checks its value, too. */
function checkedByItsOwner(): void {}

function group(checks: Readonly<Record<string, Check>>): Check {
  return (path, value) => checkGroup(path, value, checks);
}

function checkGroup(
  path: string,
  value: unknown,
  checks: Readonly<Record<string, Check>>,
  kind = "option",
): void {
  const fields = objectAt(path, value);
  for (const [name, field] of Object.entries(fields)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) throw unknownName(kind, path, name, Object.keys(checks));
    if (field !== undefined) check(pathOf(path, name), field);
  }
}

function unknownName(kind: string, path: string, given: string, known: readonly string[]): TypeError {
  const nearest =
    nearestName(given, known, Math.max(2, Math.floor(given.length / 3))) ??
    known.find((name) => isStart(given.toLowerCase(), name.toLowerCase()));
  const advice =
    nearest === undefined ? `Use one of ${known.join(", ")}.` : `Did you mean "${pathOf(path, nearest)}"?`;
  return mistake(`there is no ${kind} "${pathOf(path, given)}". ${advice}`);
}

/** Whether one is the beginning of the other, as in `window` and `windowSeconds`. */
function isStart(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
}

function pathOf(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function objectAt(path: string, value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw impossible(path === "" ? "the options" : path, value, "an object");
}

function impossible(path: string, value: unknown, expected: string): TypeError {
  return mistake(`${path} is ${shown(value)}. Set it to ${expected}.`);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  // As JSON, NaN and infinity would be null.
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
}

function oneOf(...values: readonly (string | boolean)[]): Check {
  return (path, value) => {
    if (!values.some((allowed) => allowed === value)) {
      throw impossible(path, value, values.map((allowed) => JSON.stringify(allowed)).join(" or "));
    }
  };
}

function checkText(path: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw impossible(path, value, "a text that is not empty");
}

function checkTexts(path: string, value: unknown): void {
  checkList(path, value);
  for (const [at, text] of [...(value as unknown[])].entries()) checkText(`${path}[${at}]`, text);
}

function checkList(path: string, value: unknown): void {
  if (!Array.isArray(value)) throw impossible(path, value, "a list");
}

function checkEnvironments(path: string, value: unknown): void {
  checkGroup(path, value, {
    default: checkText,
    claimable: checkTexts,
    list: checkNames,
    protected: checkTexts,
  });
  const { default: fallback, claimable = [], list, protected: marked = [] } = value as Environments;
  if (list === undefined && marked.length > 0) {
    throw mistake(`${path}.protected needs ${path}.list. Set ${path}.list to the names of all environments.`);
  }
  const requireListed = (name: string, at: string): void => {
    if (list === undefined || list.includes(name)) return;
    const nearest = nearestName(name, list);
    const advice = nearest === undefined ? "" : ` Did you mean ${shown(nearest)}?`;
    throw mistake(
      `${at} is ${shown(name)}, which ${path}.list does not have.${advice} Add it to ${path}.list, or change ${at}.`,
    );
  };
  if (fallback !== undefined) requireListed(fallback, `${path}.default`);
  for (const [at, name] of claimable.entries()) requireListed(name, `${path}.claimable[${at}]`);
  for (const [at, name] of marked.entries()) requireListed(name, `${path}.protected[${at}]`);
}

type Environments = NonNullable<FeatureFlagsOptions["environments"]>;

function checkNames(path: string, value: unknown): void {
  checkTexts(path, value);
  const names = value as readonly string[];
  if (names.length === 0) throw impossible(path, value, "a list with at least one name, or leave it out");
  const long = names.findIndex((name) => name.length > MAX_LINE);
  if (long >= 0) throw mistake(`${path}[${long}] has more than ${MAX_LINE} characters. Use a shorter name.`);
}

function checkFunction(path: string, value: unknown): void {
  if (typeof value !== "function") throw impossible(path, value, "a function");
}

function checkRateLimit(path: string, value: unknown): void {
  if (value === false) return;
  if (typeof value !== "object") throw impossible(path, value, "an object, or false");
  checkGroup(path, value, { rules: checkRules, keys: checkQuota, store: checkStore });
}

function checkRules(path: string, value: unknown): void {
  const names = Object.keys(DEFAULT_QUOTAS);
  const checks = Object.fromEntries(names.map((name) => [name, checkRule]));
  checkGroup(path, value, checks, "rate-limit rule");
}

function checkRule(path: string, value: unknown): void {
  if (value !== false) checkQuota(path, value);
}

function checkQuota(path: string, value: unknown): void {
  checkGroup(path, value, { max: checkedByItsOwner, windowSeconds: checkedByItsOwner });
}

function checkStore(path: string, value: unknown): void {
  // A store may be an instance of a class, whose methods are not its own.
  if (typeof value === "object" && value !== null && "take" in value && typeof value.take === "function")
    return;
  throw impossible(path, value, "a RateLimitStore, which has the method take");
}

function checkTables(path: string, value: unknown): void {
  const tables = Object.entries(createTables()).map(([name, { fields }]): [string, Check] => {
    const columns = Object.keys(fields).map((field): [string, Check] => [field, checkText]);
    return [name, group({ modelName: checkText, fields: group(Object.fromEntries(columns)) })];
  });
  checkGroup(path, value, Object.fromEntries(tables), "table");
}

function checkDeclarations(path: string, value: unknown): void {
  for (const [key, declared] of Object.entries(objectAt(path, value))) {
    if (!isKey(key)) {
      throw mistake(
        `${path} declares the key ${JSON.stringify(key)}. Use 1–128 characters of A-Z, a-z, 0-9, _ and -.`,
      );
    }
    checkDeclaration(`${path}["${key}"]`, objectAt(`${path}["${key}"]`, declared));
  }
}

function checkDeclaration(path: string, declared: object): void {
  const { type } = declared as { readonly type?: unknown };
  if (!isFlagType(type)) throw impossible(`${path}.type`, type, `one of ${FLAG_TYPES.join(", ")}`);
  const checkValue: Check = (at, value) => {
    if (!isJsonValue(value) || !fitsType(type, value)) throw impossible(at, value, `a value of type ${type}`);
  };
  checkGroup(path, declared, {
    type: checkedByItsOwner,
    default: checkValue,
    values(at, list) {
      checkList(at, list);
      for (const [index, value] of [...(list as unknown[])].entries()) checkValue(`${at}[${index}]`, value);
    },
    variants: checkTexts,
    schema: checkSchema,
  });
  const { default: value } = declared as { readonly default?: unknown };
  const misfit = isJsonValue(value) ? findMisfit(declared as FlagDeclaration, value) : undefined;
  if (misfit !== undefined) {
    throw mistake(`${path}.default${misfit}. Change the default or its declaration.`);
  }
}

function checkSchema(path: string, value: unknown): void {
  const isSchema =
    (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
  if (!isSchema)
    throw impossible(path, value, "a schema of Zod, Valibot, ArkType or another Standard Schema");
}
