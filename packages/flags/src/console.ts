/**
 * The public names of `@halyard/flags/console`: what `@halyard/console` needs of the server. They may change between
 * minor versions.
 */
export type {
  ActivityRequest,
  ActivityResponse,
  ConsoleAnswers,
  ConsoleKey,
  ConsoleOrganization,
  ConsoleState,
  CreateKeyRequest,
  CreateKeyResponse,
  DeleteKeyRequest,
  EvaluationsRequest,
  EvaluationsResponse,
  ExportAuditRequest,
  ExportAuditResponse,
  FlagsProcess,
  KeysResponse,
  LogResponse,
  MissingFlag,
  MissingFlagsRequest,
  MissingFlagsResponse,
  PeopleRequest,
  PeopleResponse,
  Person,
  PersonFlag,
  PersonRequest,
  PersonResponse,
  ProcessesResponse,
  RevisionRequest,
  RevisionResponse,
  VerifyAuditRequest,
  VerifyAuditResponse,
} from "./model/console.ts";
export { patchEnvironments } from "./model/environments.ts";
export { changedParts, partsOf, valueAt } from "./model/parts.ts";
export { type ConsoleAuth, type ConsolePort, openConsolePort } from "./server/console/port.ts";
