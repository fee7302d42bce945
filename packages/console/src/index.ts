/** The public names of `@halyard/console`. */
export type {
  ActivityRequest,
  ActivityResponse,
  ConsoleError,
  ConsoleHeader,
  ConsoleKey,
  ConsoleOrganization,
  ConsoleSession,
  CreateKeyRequest,
  CreateKeyResponse,
  DeleteKeyRequest,
  ExportAuditRequest,
  ExportAuditResponse,
  KeysResponse,
  MatchesRequest,
  MatchesResponse,
  PeopleRequest,
  PeopleResponse,
  Person,
  PersonFlag,
  PersonRequest,
  PersonResponse,
  VerifyAuditRequest,
  VerifyAuditResponse,
} from "./api.ts";
export { type Console, createConsole } from "./server/create-console.ts";
export type { ConsoleOptions } from "./server/options.ts";
