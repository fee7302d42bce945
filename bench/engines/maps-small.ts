/** The same with a tenth of the flags and overrides. */
import { startMaps } from "./maps.ts";
import type { Engine } from "./workload.ts";

export const start = (): Engine => startMaps(1_000, 10_000);
