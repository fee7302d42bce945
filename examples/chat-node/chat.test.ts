import { serve } from "@halyard/wire/node";
import { holdPromises } from "./promises.ts";

holdPromises(({ router, authenticate }) =>
  serve(router, { port: 0, host: "localhost", handleSignals: false, authenticate }),
);
