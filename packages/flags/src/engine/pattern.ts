/** Regular expressions that cannot stall: an engine linear in pattern and input, and bounds on both. */
import { RE2JS } from "re2js";

/** Longer patterns are refused. */
export const MAX_PATTERN_LENGTH: number = 256;
/** Longer inputs do not match. */
export const MAX_INPUT_LENGTH: number = 256;
/**
 * Instructions of the compiled program. A search takes at most so many steps for each character of the input, so this
 * and the length of the input bound its time; a counted repetition such as `{1,200}` is what makes programs large.
 * Also the largest program for which the engine keeps no memory between searches.
 */
export const MAX_PATTERN_SIZE: number = 500;

export interface Pattern {
  readonly size: number;
  /** An unanchored search. */
  matches(input: string): boolean;
}

/** Throws with the engine's reason when it is not a pattern of the engine's syntax. */
export function compilePattern(source: string): Pattern {
  const program = RE2JS.compile(source);
  return {
    size: program.programSize(),
    // Not `test`: it builds an automaton that grows with the inputs seen, to 8 MB for each pattern.
    matches: (input) => input.length <= MAX_INPUT_LENGTH && program.matcher(input).find(),
  };
}
