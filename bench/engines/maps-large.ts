/** Maps of the maximum supported size. */
import { startMaps } from "./maps.ts";
import type { Engine } from "./workload.ts";

export const start = (): Engine => startMaps(10_000, 100_000);
