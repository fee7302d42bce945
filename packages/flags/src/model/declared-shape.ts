/** Says where a value is not as declared. Apart from `declared.ts`, because pages load that file. */
import type { JsonValue } from "../engine/json.ts";
import { type FlagDeclaration, fitsDeclaration } from "./declared.ts";

/** What does not fit, such as `.seats is missing`; undefined if the declaration allows the value. */
export function findMisfit(declaration: FlagDeclaration, value: JsonValue): string | undefined {
  if (fitsDeclaration(declaration, value)) return undefined;
  if (declaration.type === "json") {
    if (declaration.schema !== undefined) return findIssue(declaration.schema, value);
    return declaration.default === undefined ? undefined : compare(declaration.default, value, "");
  }
  const { type, values } = declaration;
  if (typeof value !== type) return ` is ${kindOf(value)}, not a ${type}`;
  if (values === undefined || values.some((allowed) => allowed === value)) return undefined;
  return ` is ${JSON.stringify(value)}, not one of ${values.map((allowed) => JSON.stringify(allowed)).join(", ")}`;
}

function findIssue(
  schema: NonNullable<Extract<FlagDeclaration, { type: "json" }>["schema"]>,
  value: JsonValue,
): string | undefined {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    return " cannot be checked, because its schema is asynchronous, or a check in it throws";
  }
  const [issue] = result.issues ?? [];
  if (issue === undefined) return undefined;
  const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return `${keys.map((key) => pathOf(String(key))).join("")} is refused by its schema: ${issue.message}`;
}

/** `null` in a default says nothing about the kind of the value. */
function compare(shape: JsonValue, value: JsonValue, path: string): string | undefined {
  if (shape === null) return undefined;
  if (kindOf(shape) !== kindOf(value)) return `${path} is ${kindOf(value)}, not ${kindOf(shape)}`;
  if (Array.isArray(shape) && Array.isArray(value)) {
    const at = value.findIndex(
      (item) => shape.length > 0 && shape.every((one) => compare(one, item, "") !== undefined),
    );
    return at < 0 ? undefined : compare(shape[0] ?? null, value[at] ?? null, `${path}[${at}]`);
  }
  if (typeof shape !== "object" || typeof value !== "object" || value === null) return undefined;
  for (const [key, expected] of Object.entries(shape)) {
    if (expected === null) continue;
    const field = path + pathOf(key);
    if (!Object.hasOwn(value, key)) return `${field} is missing`;
    const misfit = compare(expected, (value as Readonly<Record<string, JsonValue>>)[key] ?? null, field);
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function pathOf(key: string): string {
  return /^\d+$/.test(key) ? `[${key}]` : `.${key}`;
}
