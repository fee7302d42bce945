/** Every operation of the console, by the last part of its path. */
import type { ConsoleAnswers } from "../../model/console.ts";
import { log, revision } from "./changes.ts";
import type { ConsoleOperation, PublicConsoleOperation } from "./definition.ts";
import { createKey, deleteKey, keys } from "./keys.ts";
import { missingFlags } from "./missing-flags.ts";
import { people, person } from "./people.ts";
import { processes } from "./processes.ts";
import { activity, evaluations, exportAudit, verifyAudit } from "./reports.ts";
import { session } from "./state.ts";

const OPERATIONS: {
  readonly [Name in keyof ConsoleAnswers]: ConsoleOperation<Name> | PublicConsoleOperation<Name>;
} = {
  session,
  people,
  person,
  activity,
  evaluations,
  "missing-flags": missingFlags,
  revision,
  log,
  "verify-audit": verifyAudit,
  "export-audit": exportAudit,
  processes,
  keys,
  "create-key": createKey,
  "delete-key": deleteKey,
};

export const CONSOLE_OPERATIONS: ReadonlyMap<string, ConsoleOperation | PublicConsoleOperation> = new Map(
  Object.entries(OPERATIONS),
);
