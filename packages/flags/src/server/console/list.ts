/** Every operation of the console, by the last part of its path. */
import { log, revision } from "./changes.ts";
import type { ConsoleOperation, PublicConsoleOperation } from "./definition.ts";
import { createKey, deleteKey, keys } from "./keys.ts";
import { matches, people, person } from "./people.ts";
import { processes } from "./processes.ts";
import { activity, evaluations, exportAudit, verifyAudit } from "./reports.ts";
import { session } from "./state.ts";

export const CONSOLE_OPERATIONS: ReadonlyMap<string, ConsoleOperation | PublicConsoleOperation> = new Map<
  string,
  ConsoleOperation | PublicConsoleOperation
>([
  ["session", session],
  ["people", people],
  ["person", person],
  ["matches", matches],
  ["activity", activity],
  ["evaluations", evaluations],
  ["revision", revision],
  ["log", log],
  ["verify-audit", verifyAudit],
  ["export-audit", exportAudit],
  ["processes", processes],
  ["keys", keys],
  ["create-key", createKey],
  ["delete-key", deleteKey],
]);
