/** The same with a tenth of the flags and overrides. */
import { startStore } from "./halyard-store.ts";
import type { Engine } from "./workload.ts";

export const start = (): Engine => startStore(1_000, 10_000);
