/** The parts of a flag that are edited and compared one by one: fields of the flag, of an environment, of a rule. */
import type { EnvironmentSettings, Flag, JsonValue, Rule } from "../../api/types.ts";

/** A flag, with its rules in the order of evaluation. */
export interface Stored {
  readonly flag: Flag;
  readonly rules: readonly Rule[];
}

export const RULE_FIELDS = [
  "name",
  "conditions",
  "value",
  "variant",
  "percentage",
  "enabled",
  "environments",
] as const satisfies readonly (keyof Rule)[];
export type RuleField = (typeof RULE_FIELDS)[number];
export type RuleContent = Partial<Pick<Rule, RuleField>>;

export const ENVIRONMENT_FIELDS = ["enabled", "rolloutPercentage", "defaultValue", "offValue"] as const;
export type EnvironmentField = (typeof ENVIRONMENT_FIELDS)[number];

export const FLAG_FIELDS = [
  ...ENVIRONMENT_FIELDS,
  "variants",
  "bucketBy",
  "name",
  "description",
  "visibility",
] as const satisfies readonly (keyof Flag)[];
export type FlagField = (typeof FLAG_FIELDS)[number];

/** One part of a flag. Without `environment` and `rule` it is a field of the flag itself. */
export type Cell =
  | { readonly field: FlagField; readonly environment?: undefined; readonly rule?: undefined }
  | { readonly field: EnvironmentField; readonly environment: string; readonly rule?: undefined }
  | { readonly field: RuleField; readonly rule: string; readonly environment?: undefined };

export interface Difference {
  readonly cell: Cell;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** The cells with different values. Rules that only one of both has are left out. */
export function differences(one: Stored, other: Stored): Difference[] {
  const environments = [one, other].flatMap(({ flag }) => Object.keys(flag.environments ?? {}));
  const rules = one.rules.filter(({ id }) => other.rules.some((rule) => rule.id === id));
  const cells: Cell[] = [
    ...FLAG_FIELDS.map((field) => ({ field })),
    ...[...new Set(environments)].flatMap((environment) =>
      ENVIRONMENT_FIELDS.map((field) => ({ environment, field })),
    ),
    ...rules.flatMap(({ id }) => RULE_FIELDS.map((field) => ({ rule: id, field }))),
  ];
  return cells
    .map((cell) => ({ cell, before: readCell(one, cell), after: readCell(other, cell) }))
    .filter(({ before, after }) => !isSame(before, after));
}

/** The value of a cell. Undefined: the field is absent, or its rule is. */
export function readCell({ flag, rules }: Stored, cell: Cell): JsonValue | undefined {
  if (cell.rule !== undefined) return rules.find(({ id }) => id === cell.rule)?.[cell.field] as JsonValue;
  if (cell.environment !== undefined) return flag.environments?.[cell.environment]?.[cell.field];
  return flag[cell.field] as JsonValue | undefined;
}

/** The same with another value in the cell. An environment without fields of its own disappears. */
export function writeCell(stored: Stored, cell: Cell, value: JsonValue | undefined): Stored {
  const { flag, rules } = stored;
  if (cell.rule !== undefined) {
    const write = (rule: Rule): Rule => (rule.id === cell.rule ? withField(rule, cell.field, value) : rule);
    return { flag, rules: rules.map(write) };
  }
  if (cell.environment === undefined) return { flag: withField(flag, cell.field, value), rules };
  const { [cell.environment]: settings = {}, ...others } = flag.environments ?? {};
  const next: EnvironmentSettings = withField(settings, cell.field, value);
  const environments = Object.keys(next).length === 0 ? others : { ...others, [cell.environment]: next };
  return { flag: { ...flag, environments }, rules };
}

function withField<Entity extends object>(
  entity: Entity,
  field: string & keyof Entity,
  value: JsonValue | undefined,
): Entity {
  const next = { ...entity };
  if (value === undefined) delete next[field];
  else Object.assign(next, { [field]: value });
  return next;
}

export function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Ids of rules that are not stored yet. */
export const NEW = "new-";
export const isNew = (id: string): boolean => id.startsWith(NEW);

export const idsOf = ({ rules }: Stored): string[] => rules.map(({ id }) => id);

export const ruleIn = ({ rules }: Stored, id: string): Rule | undefined =>
  rules.find((rule) => rule.id === id);

export const withoutRule = ({ flag, rules }: Stored, id: string): Stored => ({
  flag,
  rules: rules.filter((rule) => rule.id !== id),
});

/** At its place, or at the end. */
export function withRule(stored: Stored, rule: Rule): Stored {
  const { flag, rules } = stored;
  const isThere = ruleIn(stored, rule.id) !== undefined;
  return { flag, rules: isThere ? rules.map((one) => (one.id === rule.id ? rule : one)) : [...rules, rule] };
}

/** Rules that are not in the order stay at the end. */
export function inOrder({ flag, rules }: Stored, order: readonly string[]): Stored {
  const placeOf = ({ id }: Rule): number => (order.includes(id) ? order.indexOf(id) : order.length);
  return { flag, rules: rules.toSorted((one, other) => placeOf(one) - placeOf(other)) };
}

/** The parts of a rule that a person sets. */
export function contentOf(rule: Rule): RuleContent {
  const entries = RULE_FIELDS.map((field) => [field, rule[field]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

export function hasSameContent(one: Rule, other: Rule): boolean {
  return RULE_FIELDS.every((field) => isSame(one[field], other[field]));
}
