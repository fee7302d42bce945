/** Checks the option `trusted` at the start: its form, and that users cannot write the fields it names. */
import { hasOrganizations } from "@halyard/sessions/plugin";
import type { TrustedOptions } from "../../model/trusted.ts";
import { mistake } from "../help.ts";
import type { HostContext } from "../http/host-request.ts";
import { nearestName } from "../nearest-name.ts";

/** The models whose fields can be trusted. */
export type TrustedModel = "user" | "session" | "organization";
const TRUSTED_MODELS: readonly TrustedModel[] = ["user", "session", "organization"];

const OPTIONS: readonly (keyof TrustedOptions)[] = [...TRUSTED_MODELS, "selfDeclared", "compute", "ttlMs"];

/** Fields of Better Auth's own that no endpoint takes from a request, although they lack `input: false`. */
const SET_BY_SERVER: Readonly<Record<TrustedModel, ReadonlySet<string>>> = {
  user: new Set(["createdAt", "updatedAt"]),
  session: new Set(["createdAt", "updatedAt", "expiresAt", "userId", "impersonatedBy"]),
  organization: new Set(["createdAt"]),
};

/** Longer than a day is a mistake in the unit. */
const MAX_TTL_MS = 24 * 60 * 60_000;

/** Throws a `TypeError` if the option has another form than its type. */
export function checkTrustedOptions(trusted: TrustedOptions): void {
  for (const name of Object.keys(trusted)) {
    if ((OPTIONS as readonly string[]).includes(name)) continue;
    throw mistake(
      `trusted.${name} is not an option.${meant(name, OPTIONS)} The options are ${OPTIONS.join(", ")}.`,
    );
  }
  for (const name of [...TRUSTED_MODELS, "selfDeclared"] as const) {
    const list: unknown = trusted[name] ?? [];
    const isList = Array.isArray(list) && list.every((field) => typeof field === "string" && field !== "");
    if (!isList) throw mistake(`trusted.${name} must be a list of field names, such as ["plan"].`);
  }
  const { compute, ttlMs } = trusted;
  if (compute !== undefined && typeof compute !== "function") {
    throw mistake("trusted.compute must be a function that returns an object.");
  }
  const isTime = ttlMs === undefined || (typeof ttlMs === "number" && ttlMs > 0 && ttlMs <= MAX_TTL_MS);
  if (!isTime) throw mistake(`trusted.ttlMs must be a number of milliseconds from 1 to ${MAX_TTL_MS}.`);
  const listed = pathsOf(trusted);
  for (const path of trusted.selfDeclared ?? []) {
    if (listed.includes(path)) continue;
    throw mistake(
      `trusted.selfDeclared has "${path}", which no list of trusted names.${meant(path, listed)} Write it as "user.nickname", and add "nickname" to trusted.user.`,
    );
  }
}

/** Throws if a trusted field does not exist, or if users can write it and the option does not say so. */
export function checkTrustedFields(context: HostContext, trusted: TrustedOptions): void {
  for (const model of TRUSTED_MODELS) {
    const names = trusted[model] ?? [];
    if (names.length === 0) continue;
    if (model === "organization" && !hasOrganizations(context)) {
      throw mistake(
        `trusted.organization needs Better Auth's organization plugin. Add organization() to the plugins, or remove trusted.organization.`,
      );
    }
    const fields = fieldsOf(context, model);
    for (const name of names) checkField(model, name, fields, trusted);
  }
}

/** The fields of a table by name, as Better Auth describes them. */
type Fields = Readonly<Record<string, { readonly input?: boolean | undefined }>>;

function checkField(model: TrustedModel, name: string, fields: Fields, trusted: TrustedOptions): void {
  const path = `${model}.${name}`;
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (field === undefined) {
    const known = Object.keys(fields);
    throw mistake(
      `trusted.${model} has "${name}", but the ${model} has no such field.${meant(name, known)} Its fields are ${known.join(", ")}.`,
    );
  }
  if (path === "session.token") {
    throw mistake(`trusted.session has "token", which is the session's credential. Remove it.`);
  }
  const isProtected = field.input === false || SET_BY_SERVER[model].has(name);
  if (isProtected || trusted.selfDeclared?.includes(path)) return;
  throw mistake(
    `trusted.${model} has "${name}", but ${WRITERS[model]} can write it: Better Auth accepts ${path} from requests unless the field has input: false. Set input: false on the field, or add "${path}" to trusted.selfDeclared if rules may rely on what ${WRITERS[model]} say.`,
  );
}

const WRITERS: Readonly<Record<TrustedModel, string>> = {
  user: "users",
  session: "users",
  organization: "members of the organization",
};

function fieldsOf({ options, tables }: HostContext, model: TrustedModel): Fields {
  const table = tables[model]?.fields;
  if (table !== undefined || model !== "session") return table ?? {};
  // Sessions that are only in secondary storage have no table.
  const ofPlugins = (options.plugins ?? []).map((plugin) => plugin.schema?.["session"]?.fields ?? {});
  return Object.assign({}, ...ofPlugins, options.session?.additionalFields);
}

/** The paths that rules can read, without those of `compute`. */
export function pathsOf(trusted: TrustedOptions): string[] {
  return TRUSTED_MODELS.flatMap((model) => (trusted[model] ?? []).map((name) => `${model}.${name}`));
}

/** Empty, or the beginning of a further sentence with its own space. */
function meant(given: string, known: readonly string[]): string {
  const nearest = nearestName(given, known);
  return nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
}
