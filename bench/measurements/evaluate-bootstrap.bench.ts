import { compareSituations } from "../inside.ts";
import type { Measurement } from "../measurement.ts";

export const measurement: Measurement = compareSituations({
  name: "evaluate-bootstrap",
  about: "All of 1,000 flags for one user in process; CPU time of a flag over that of one flag for one user",
  goal: { atMost: 1 },
  situation: { name: "1,000 flags at once", file: "halyard-bootstrap" },
  usual: { name: "one flag at a time", file: "halyard" },
});
