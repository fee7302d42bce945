/** Finds the name that a misspelt one was probably meant to be. */

/** The known name with the fewest typing errors, if there are at most `maxErrors`. */
export function nearestName(
  given: string,
  known: Iterable<string>,
  maxErrors: number = maxErrorsIn(given),
): string | undefined {
  let nearest: string | undefined;
  let fewest = maxErrors + 1;
  for (const name of known) {
    if (Math.abs(name.length - given.length) >= fewest) continue;
    const errors = countErrors(given.toLowerCase(), name.toLowerCase());
    if (errors >= fewest) continue;
    nearest = name;
    fewest = errors;
  }
  return nearest;
}

function maxErrorsIn(given: string): number {
  return given.length <= 4 ? 1 : 2;
}

/** Characters to insert, remove, replace or swap with their neighbour. */
function countErrors(given: string, name: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (let row = 1; row <= given.length; row++) {
    const current = [row];
    for (let at = 1; at <= name.length; at++) {
      const isSame = given[row - 1] === name[at - 1];
      let errors = Math.min(
        (last[at] ?? 0) + 1,
        (current[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwap = row > 1 && at > 1 && given[row - 1] === name[at - 2] && given[row - 2] === name[at - 1];
      if (isSwap) errors = Math.min(errors, (beforeLast[at - 2] ?? 0) + 1);
      current.push(errors);
    }
    beforeLast = last;
    last = current;
  }
  return last[name.length] ?? 0;
}
