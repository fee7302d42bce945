/**
 * The parts of an entity that can be changed and taken back on their own: its fields, and of a flag's `environments` each
 * field of each environment.
 */
import { isPlainObject } from "../engine/json.ts";
import { canonicalJson } from "./canonical-json.ts";
import { type Field, isInput } from "./fields.ts";
import { FLAG_FIELDS } from "./flag.ts";
import { RULE_FIELDS } from "./rule.ts";
import { SEGMENT_FIELDS } from "./segment.ts";

interface Part {
  readonly steps: readonly string[];
  readonly value: unknown;
}

/** Fields that follow from every change, or never change. */
const FOLLOWING: ReadonlySet<string> = new Set(
  [FLAG_FIELDS, RULE_FIELDS, SEGMENT_FIELDS].flatMap((fields) =>
    Object.entries<Field>(fields).flatMap(([name, field]) => (isInput(field) ? [] : [name])),
  ),
);

/**
 * The value of each part by its path, such as `enabled` or `environments.staging.enabled`. Of a change: the parts that it
 * touches. One that removes an environment touches `environments.staging` as a whole.
 */
export function partsOf(entity: object): ReadonlyMap<string, unknown> {
  return new Map([...listParts(entity)].map(([path, { value }]) => [path, value]));
}

/** The value at a path of `partsOf`, or of a whole environment; undefined if there is none. */
export function valueAt(entity: object, path: string): unknown {
  return listNodes(entity).get(path)?.value;
}

/** The paths of the parts that differ, sorted. An absent value is not the same as null. */
export function changedParts(before: object, after: object): string[] {
  const [left, right] = [partsOf(before), partsOf(after)];
  const isSame = (path: string) =>
    left.has(path) === right.has(path) && canonicalJson(left.get(path)) === canonicalJson(right.get(path));
  return [...new Set([...left.keys(), ...right.keys()])].filter((path) => !isSame(path)).sort();
}

/** The entity with the parts of these paths as they are in `source`. */
export function withPartsOf<Entity extends object>(
  entity: Entity,
  source: Entity,
  paths: readonly string[],
): Entity {
  const following = Object.entries(entity).filter(([name]) => FOLLOWING.has(name));
  const kept = [...listParts(entity)].filter(([path]) => !paths.includes(path));
  const taken = [...listParts(source)].filter(([path]) => paths.includes(path));
  const fields = assemble([...kept, ...taken].map(([, part]) => part));
  // Every part is one of the entity's own fields, with a value that it had.
  return { ...Object.fromEntries(following), ...fields } as Entity;
}

function listParts(entity: object): Map<string, Part> {
  return new Map([...listNodes(entity)].filter(([, { isPart }]) => isPart));
}

/** The parts, and the environments that have parts of their own. */
function listNodes(entity: object): Map<string, Part & { readonly isPart: boolean }> {
  const nodes = new Map<string, Part & { readonly isPart: boolean }>();
  const visit = (value: unknown, steps: readonly string[], path: string, levels: number): void => {
    const members = levels > 0 && isPlainObject(value) ? Object.entries(value) : [];
    // An empty object is a part, so that an environment without settings is not lost.
    nodes.set(path, { steps, value, isPart: members.length === 0 });
    for (const [name, member] of members) visit(member, [...steps, name], join(path, name), levels - 1);
  };
  for (const [name, value] of Object.entries(entity)) {
    if (!FOLLOWING.has(name)) visit(value, [name], name, name === "environments" ? 2 : 0);
  }
  return nodes;
}

/** A name with a dot is quoted, so that two parts never have the same path. */
function join(path: string, name: string): string {
  return name.includes(".") ? `${path}[${JSON.stringify(name)}]` : `${path}.${name}`;
}

function assemble(parts: readonly Part[]): object {
  const members = new Map<string, Part[]>();
  for (const { steps, value } of parts) {
    const [name = "", ...further] = steps;
    members.set(name, [...(members.get(name) ?? []), { steps: further, value }]);
  }
  const entries = [...members].map(([name, within]): [string, unknown] => {
    const nested = within.filter(({ steps }) => steps.length > 0);
    return [name, nested.length > 0 ? assemble(nested) : within[0]?.value];
  });
  return Object.fromEntries(entries);
}
