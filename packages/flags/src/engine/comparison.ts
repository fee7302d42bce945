/** The comparisons of compiled conditions. Common ones have a kind, which the graph evaluates without a call. */

// The numbers continue those of the other node kinds in `graph.ts`.

/** The value is `operand`, a scalar. */
export const SAME = 4;
/** The value is `operand` or `other`, both scalars. */
export const EITHER = 5;
/** The value is a number in this order to the number `operand`. */
export const GREATER = 6;
export const GREATER_OR_EQUAL = 7;
export const LESS = 8;
export const LESS_OR_EQUAL = 9;
/** The value is in the set `operand`. */
export const ONE_OF = 10;
/** `operand` is a function that decides. */
export const PREDICATE = 11;
/** No value passes. */
export const NEVER = 12;

export type OrderKind = typeof GREATER | typeof GREATER_OR_EQUAL | typeof LESS | typeof LESS_OR_EQUAL;

export type ComparisonKind =
  | typeof SAME
  | typeof EITHER
  | OrderKind
  | typeof ONE_OF
  | typeof PREDICATE
  | typeof NEVER;

export interface Comparison {
  readonly kind: ComparisonKind;
  /** The type of `operand` and `other` depends on the kind. */
  readonly operand: unknown;
  readonly other?: unknown;
}

export type Predicate = (value: unknown) => boolean;

export const never: Comparison = { kind: NEVER, operand: undefined };

export function predicate(test: Predicate): Comparison {
  return { kind: PREDICATE, operand: test };
}

/** `value` is undefined when the attribute is missing. */
export function compare(comparison: Comparison, value: unknown): boolean {
  // The most common kinds come first and in a short function, so that V8 inlines it into the loop of `walk`.
  const { kind } = comparison;
  if (kind === SAME) return value === comparison.operand;
  if (kind === EITHER) return value === comparison.operand || value === comparison.other;
  if (kind === GREATER) return typeof value === "number" && value > (comparison.operand as number);
  return compareRarer(kind, comparison.operand, value);
}

type RarerKind = Exclude<ComparisonKind, typeof SAME | typeof EITHER | typeof GREATER>;

function compareRarer(kind: RarerKind, operand: unknown, value: unknown): boolean {
  switch (kind) {
    case GREATER_OR_EQUAL:
      return typeof value === "number" && value >= (operand as number);
    case LESS:
      return typeof value === "number" && value < (operand as number);
    case LESS_OR_EQUAL:
      return typeof value === "number" && value <= (operand as number);
    case ONE_OF:
      return (operand as ReadonlySet<unknown>).has(value);
    case PREDICATE:
      return (operand as Predicate)(value);
    case NEVER:
      return false;
  }
}
