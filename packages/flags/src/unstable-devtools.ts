/** Entry point `@halyard/flags/unstable-devtools`: for `@halyard/devtools` only. It may change in every release. */
export type { ClientSeam, SeamStore } from "./client/seam.ts";
export { findMisfit } from "./model/declared-shape.ts";
export type { EvaluationMetadata } from "./model/evaluation.ts";
export { NO_POSITION } from "./model/position.ts";
