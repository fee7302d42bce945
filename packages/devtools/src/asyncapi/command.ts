#!/usr/bin/env node
/** The command `halyard-asyncapi`. */
import { runCommand } from "./run-command.ts";

// Ends the process also when the module serves its router when it is imported.
process.exit(await runCommand(process.argv.slice(2)));
