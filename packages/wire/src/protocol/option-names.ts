/** Refuses options whose name does not exist, and suggests the name that was probably meant. */
import { isObject } from "./checks.ts";

/**
 * The names of options. `true` and a number, which is the default, accept anything; an object has the names of a nested
 * object's fields.
 */
export type OptionNames<Options> = {
  readonly [Name in keyof Options]-?: true | number | OptionNames<NonNullable<Options[Name]>>;
};

interface Names {
  readonly [name: string]: true | number | Names;
}

/** Throws a `TypeError` for the first unknown name. `owner` takes the options, such as `wsClient()`. */
export function checkOptionNames<Options extends object>(
  owner: string,
  options: object,
  names: OptionNames<Options>,
): void {
  check(owner, options, names as Names, "");
}

function check(owner: string, options: object, names: Names, path: string): void {
  const known = Object.keys(names);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const inner = known.includes(name) && names[name];
    const option = `"${path}${name}"`;
    if (!inner) {
      const meant = nearest(name, known);
      const advice = meant ? `Did you mean "${path}${meant}"?` : `Use one of ${known.join(", ")}.`;
      throw new TypeError(`${owner} has no option ${option}. ${advice}`);
    }
    if (typeof inner !== "object" || isOff(value, inner)) continue;
    if (!isObject(value))
      throw new TypeError(
        `The option ${option} of ${owner} must be an object. Its fields are ${Object.keys(inner).join(", ")}.`,
      );
    check(owner, value, inner, `${path}${name}.`);
  }
}

/** As `condition && { … }` gives it: like undefined. It is refused where it would look like `enabled: false`. */
function isOff(value: unknown, names: Names): boolean {
  return (value === null || value === false) && !("enabled" in names);
}

/** The known name with the fewest typing errors, or else one that begins like the given name. */
function nearest(given: string, known: readonly string[]): string | undefined {
  const wrong = given.toLowerCase();
  const [best] = known
    .map((name) => ({ name, errors: countErrors(wrong, name.toLowerCase()) }))
    .sort((a, b) => a.errors - b.errors);
  if (best && best.errors <= Math.max(2, given.length / 3)) return best.name;
  return known.find((name) => wrong.length > 2 && name.toLowerCase().startsWith(wrong));
}

/** Characters to insert, remove or replace. */
function countErrors(given: string, name: string): number {
  let row = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (const [before, letter] of [...given].entries()) {
    const next = [before + 1];
    for (let at = 0; at < name.length; at++)
      next.push(
        Math.min((row[at] ?? 0) + (letter === name[at] ? 0 : 1), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1),
      );
    row = next;
  }
  return row[name.length] ?? 0;
}
