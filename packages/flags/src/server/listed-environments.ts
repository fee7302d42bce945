/** The option `environments.list`: refuses other names in writes, and warns about them in evaluations of server code. */
import { isPlainObject } from "../engine/json.ts";
import { invalid } from "../model/inputs.ts";
import { nearestName } from "./nearest-name.ts";
import type { Service } from "./service.ts";

/** Names that one process warns about. They may come from a request that server code passes on. */
const MAX_WARNINGS = 20;

const warnedNames = new WeakMap<Service, Set<string>>();

/** Throws if a flag, a rule, a change or the input of a plan names an environment that is neither in the list nor in `before`. */
export function requireListed(service: Service, after: object, before: object = {}): void {
  const { list = [] } = service.options.environments ?? {};
  const kept = new Map(namesIn(before));
  const added = unlistedIn(service, after).filter(([name]) => !kept.has(name));
  if (added.length > 0)
    throw invalid(added.map(([name, path]) => ({ path, message: problemOf(name, list) })));
}

/** The environments that are not in the list, with their paths. */
export function unlistedIn({ options }: Service, entity: object): readonly Named[] {
  const { list } = options.environments ?? {};
  return list === undefined ? [] : namesIn(entity).filter(([name]) => !list.includes(name));
}

type Named = readonly [name: string, path: string];

function namesIn(entity: object): Named[] {
  const { environment, environments }: { environment?: unknown; environments?: unknown } = entity;
  if (typeof environment === "string") return [[environment, "environment"]];
  if (Array.isArray(environments))
    return environments.map((name, at) => [String(name), `environments.${at}`]);
  if (!isPlainObject(environments)) return [];
  // `null` removes an environment.
  const named = Object.entries(environments).filter(([, settings]) => settings !== null);
  return named.map(([name]) => [name, `environments.${name}`]);
}

/** Warns once for each name that is not in the list. The evaluation goes on: it never fails for its environment. */
export function warnOfUnlisted(service: Service, name: string): void {
  const { list } = service.options.environments ?? {};
  if (list === undefined || list.includes(name)) return;
  const warned = warnedNames.get(service) ?? new Set();
  if (warned.has(name) || warned.size >= MAX_WARNINGS) return;
  warnedNames.set(service, warned.add(name));
  const last = warned.size < MAX_WARNINGS ? "" : " Other names are not logged.";
  service.warnOnce(
    `Server code evaluates flags in the environment ${JSON.stringify(name)}: ${problemOf(name, list)}. Rules for named environments are skipped.${last}`,
  );
}

function problemOf(name: string, list: readonly string[]): string {
  const nearest = nearestName(name, list);
  const advice = nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
  return `environments.list has no such name${advice} (it has ${list.join(", ")})`;
}
