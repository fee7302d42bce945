/**
 * Every operation of the service, under its name in `auth.api`: the files below export operations and nothing else.
 * `export *`, because TypeScript keeps the doc comments of `auth.api` only when a name is not exported a second time.
 */
export * from "./audit.ts";
export * from "./console.ts";
export * from "./evaluate.ts";
export * from "./events.ts";
export * from "./explain.ts";
export * from "./exposures.ts";
export * from "./flags.ts";
export * from "./health.ts";
export * from "./metrics.ts";
export * from "./ofrep.ts";
export * from "./overrides.ts";
export * from "./plans.ts";
export * from "./readiness.ts";
export * from "./rules.ts";
export * from "./segments.ts";
export * from "./stats.ts";
export * from "./usage.ts";
