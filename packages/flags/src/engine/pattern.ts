/** Regular expressions with bounded time: RE2 is linear in pattern and input, and both have a maximum size. */
import { RE2JS } from "re2js";

/** Characters. Validation rejects longer patterns. */
export const MAX_PATTERN_LENGTH: number = 256;
/** Characters. Longer inputs do not match. */
export const MAX_INPUT_LENGTH: number = 256;
/**
 * Instructions of the compiled program. A search takes at most this many steps per input character. Counted repetitions
 * such as `{1,200}` make programs large. Up to this size, RE2 keeps no memory between searches.
 */
export const MAX_PATTERN_SIZE: number = 500;

export interface Pattern {
  readonly size: number;
  /** Searches anywhere in the input. */
  matches(input: string): boolean;
}

/** Throws RE2's error when the pattern is not valid RE2 syntax. */
export function compilePattern(source: string): Pattern {
  const program = RE2JS.compile(source);
  return {
    size: program.programSize(),
    // Not `test`, which caches an automaton that can grow to 8 MB per pattern.
    matches: (input) => input.length <= MAX_INPUT_LENGTH && program.matcher(input).find(),
  };
}
