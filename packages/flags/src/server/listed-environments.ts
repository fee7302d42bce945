/** The option `environments.list`: refuses other names in writes, and warns about them in evaluations of server code. */
import { invalid } from "../model/inputs.ts";
import { nearestName } from "./nearest-name.ts";
import type { Service } from "./service.ts";

/** Names that one process warns about. They may come from a request that server code passes on. */
const MAX_WARNINGS = 20;

const warnedNames = new WeakMap<Service, Set<string>>();

/** The names that a write gives to a flag or to a rule. */
interface Named {
  readonly names: readonly string[];
  /** The field that has the name. */
  readonly pathOf: (name: string) => string;
  /** The names that the flag or the rule has already: they may stay. Read only if a name is not in the list. */
  readonly stored: () => Promise<readonly string[]>;
}

/** Throws if a name is neither in the list nor stored already. */
export async function requireListed(
  { options: { environments } }: Service,
  { names, pathOf, stored }: Named,
): Promise<void> {
  const { list } = environments ?? {};
  const unlisted = list === undefined ? [] : names.filter((name) => !list.includes(name));
  if (list === undefined || unlisted.length === 0) return;
  const kept = await stored();
  const issues = unlisted
    .filter((name) => !kept.includes(name))
    .map((name) => ({ path: pathOf(name), message: problemOf(name, list) }));
  if (issues.length > 0) throw invalid(issues);
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
