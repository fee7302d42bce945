/** The console's API: requests and responses, shared by the server and the application. Types only. */
import type { ConsoleState } from "@halyard/flags/console";

export type {
  ActivityRequest,
  ActivityResponse,
  ConsoleKey,
  ConsoleOrganization,
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
} from "@halyard/flags/console";

/** The header that every request to the API has, with the value `1`. Pages of other origins cannot send it. */
export type ConsoleHeader = "x-halyard-console";

/** An error response. `details` of a conflict (409) name the fields. */
export type ConsoleError = {
  /** Such as `PERMISSION_DENIED`. */
  readonly code: string;
  /** What happened, and what to do. */
  readonly message: string;
  /** Further facts, such as `fields` of a conflict. */
  readonly details?: Readonly<Record<string, unknown>>;
};

/** `POST feature-flags/console/session`: who uses the console, and what it may show. */
export type ConsoleSession = ConsoleState & {
  /** The application's own page for signing in: the option `signInUrl`. */
  readonly signInUrl?: string;
  /** The path of the WebSocket for live updates: the option `live`. */
  readonly live?: string;
};
