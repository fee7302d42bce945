/** A tenant of the maximum supported size. */
import { startStore } from "./halyard-store.ts";
import type { Engine } from "./workload.ts";

export const start = (): Engine => startStore(10_000, 100_000);
