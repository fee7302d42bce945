/** The actions on feature flags. */

/** What access control can grant on the resource `featureFlag`. */
export type FlagAction =
  | "read"
  | "create"
  | "update"
  | "delete"
  | "override"
  | "audit"
  | "evaluate-as"
  | "keys";
