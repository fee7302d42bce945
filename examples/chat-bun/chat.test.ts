import { holdPromises } from "@halyard/example-chat-node/promises";
import { serve } from "@halyard/wire/bun";

holdPromises(({ router, authenticate }) =>
  serve(router, { port: 0, host: "localhost", handleSignals: false, authenticate }),
);
