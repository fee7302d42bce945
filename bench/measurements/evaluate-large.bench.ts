import { compareSituations } from "../inside.ts";
import type { Measurement } from "../measurement.ts";

/** Ten times the flags are ten times the memory; what is left of the ratio are misses of the processor's caches. */
export const measurement: Measurement = compareSituations({
  name: "evaluate-large",
  about:
    "One flag for one user among 10,000 flags and 100,000 overrides; CPU time over that among 1,000 and 10,000",
  goal: { atMost: 2 },
  situation: { name: "10,000 flags, 100,000 overrides", file: "halyard-large" },
  usual: { name: "1,000 flags, 10,000 overrides", file: "halyard-small" },
});
