/** Entry point `@halyard/devtools/inspector`. */
export type { Authorize } from "./access.ts";
export { createInspector, type Inspector, type InspectorOptions, type ListenOptions } from "./inspector.ts";
