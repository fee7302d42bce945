/** Warnings in the response to a write: the change was made, but it probably does not do what its author wants. */

/**
 * `OFF_CHANGES_NOTHING`: on or off, the flag answers the same, so that its switch cannot stop anything.
 * `UNKNOWN_ATTRIBUTE`: a condition reads an attribute that is always missing or probably misspelt. `CLAIMED_ATTRIBUTE`: a
 * condition reads what callers claim, although the application has a trusted attribute of that name. `UNKNOWN_USER`: an
 * override names an id that no user has.
 */
export type FlagWarningCode =
  | "OFF_CHANGES_NOTHING"
  | "UNKNOWN_ATTRIBUTE"
  | "CLAIMED_ATTRIBUTE"
  | "UNKNOWN_USER";

/** What is unusual about a flag after a write, and what to do about it. */
export type FlagWarning = {
  /** The kind of the warning, for programs. */
  readonly code: FlagWarningCode;
  /** One or two sentences for people. */
  readonly message: string;
};

/** An entity in the response to the write that created or changed it. */
export type WithWarnings<Entity> = Entity & {
  /** Absent if there is nothing to warn about. */
  readonly warnings?: readonly FlagWarning[];
};
