/** A tenant at the size the service is made for. */
import { startStore } from "./halyard-store.ts";
import type { Engine } from "./workload.ts";

export const start = (): Engine => startStore(10_000, 100_000);
