/** What only the console asks of the server: requests and responses. */
import type { EvaluationReason, FlagType } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { FlagAction } from "./action.ts";
import type { AuditEntry, AuditVerdict } from "./audit.ts";
import type { StatsWindow } from "./stats.ts";

/** An organization that the user may choose. */
export type ConsoleOrganization = {
  /** The id of the organization. */
  readonly id: string;
  /** The name of the organization. */
  readonly name: string;
  /** The slug, if the organization has one. */
  readonly slug?: string;
  /** The URL of the logo, if the organization has one. */
  readonly logo?: string;
  /** What the user may do with the organization's flags. */
  readonly actions: readonly FlagAction[];
};

/** Who uses the console, and what it may show. */
export type ConsoleState = {
  /** Absent without a session, or if the session has ended. */
  readonly user?: {
    /** The id of the user. */
    readonly id: string;
    /** The name of the user. */
    readonly name: string;
    /** The email of the user. */
    readonly email: string;
    /** The URL of the picture, if the user has one. */
    readonly image?: string;
    /** The admin who impersonates the user. */
    readonly impersonatedBy?: string;
  };
  /** Whether users can sign in with `POST auth/sign-in/email`. */
  readonly emailAndPassword: boolean;
  /** The option `multiTenant`. */
  readonly multiTenant: boolean;
  /** With `multiTenant`: the organizations of the user with at least one action. */
  readonly organizations: readonly ConsoleOrganization[];
  /** With `multiTenant`: the organization that is active in the session. */
  readonly activeOrganizationId?: string;
  /** What the user may do with global flags; without `multiTenant`, with all flags. */
  readonly actions: readonly FlagAction[];
  /** The option `environments`. */
  readonly environments: {
    /** The environment of requests that name none. */
    readonly default?: string;
    /** Those that users may request. Absent: any. */
    readonly claimable?: readonly string[];
    /** All environments. Absent: a flag may name any. */
    readonly list?: readonly string[];
    /** Those that the console marks. */
    readonly protected?: readonly string[];
  };
  /** Paths of trusted attributes that rules may read, such as `user.plan`. */
  readonly trustedPaths: readonly string[];
  /** Whether the application has the API key plugin, so that keys can be managed. */
  readonly apiKeys: boolean;
  /** Whether it is known who is online. */
  readonly online: boolean;
  /** The version of `@halyard/flags`. */
  readonly version: string;
};

/** `POST feature-flags/console/people`: searches users. Needs `evaluate-as`. */
export type PeopleRequest = {
  /** Part of the name or email, or a whole id. */
  readonly q?: string;
  /** With `multiTenant`: only members of this organization. Required unless the user may do it with global flags. */
  readonly organizationId?: string;
  /** 1 to 100, default 25. */
  readonly limit?: number;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
};
/** A user of the application. */
export type Person = {
  /** The id of the user. */
  readonly id: string;
  /** The name of the user. */
  readonly name: string;
  /** The email of the user. */
  readonly email: string;
  /** The URL of the picture, if the user has one. */
  readonly image?: string;
  /** The role in the application. */
  readonly role?: string;
  /** The role in the organization. */
  readonly organizationRole?: string;
  /** ISO 8601. */
  readonly createdAt: string;
};
/** A page of users. */
export type PeopleResponse = {
  /** In the order of ids. */
  readonly people: readonly Person[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
};

/** `POST feature-flags/console/person`: every flag of one user. Needs `evaluate-as`. */
export type PersonRequest = {
  /** The id of the user. */
  readonly userId: string;
  /** With `multiTenant`: the organization whose flags are evaluated. */
  readonly organizationId?: string;
  /** Default: `environments.default`. */
  readonly environment?: string;
};
/** A flag as one user gets it. */
export type PersonFlag = {
  /** The id of the flag. */
  readonly id: string;
  /** The key of the flag. */
  readonly key: string;
  /** The name of the flag. */
  readonly name: string;
  /** The type of the flag. */
  readonly type: FlagType;
  /** The organization of the flag, if it has one. */
  readonly organizationId?: string;
  /** The value for the user. */
  readonly value: JsonValue;
  /** The variant, if the user gets one. */
  readonly variant?: string;
  /** Why the user gets the value. */
  readonly reason: EvaluationReason;
  /** The value depends on what the user claims in a request; shown is the value without claims. */
  readonly unknown?: true;
  /** The override of the user, if there is one. `DELETE feature-flags/admin/overrides/:id` removes it. */
  readonly overrideId?: string;
};
/** A user, and every flag as the user gets it. */
export type PersonResponse = {
  /** The user. */
  readonly person: Person;
  /** Sorted by key. */
  readonly flags: readonly PersonFlag[];
};

/** `POST feature-flags/console/activity`: evaluations over time. Needs `read`. */
export type ActivityRequest = {
  /** Of one flag. Default: all flags. */
  readonly flagId?: string;
  /** With `multiTenant`: only flags of this organization. */
  readonly organizationId?: string;
  /** ISO 8601. Default: the last 7 days. */
  readonly start?: string;
  /** ISO 8601, exclusive. Default: now. */
  readonly end?: string;
};
/** Evaluations over time. */
export type ActivityResponse = {
  /** The time that the figures cover. */
  readonly window: StatsWindow;
  /** One entry per hour with evaluations or exposures, oldest first. */
  readonly hours: readonly {
    /** Start of the hour, ISO 8601. */
    readonly at: string;
    /** Evaluations by reason. */
    readonly byReason: Partial<Record<EvaluationReason, number>>;
    /** Of one flag: users who were shown each arm in this hour. The arm is the variant's key, else `true` or `false`. */
    readonly byVariant?: Readonly<Record<string, number>>;
  }[];
};

/** `POST feature-flags/console/missing-flags`: flags of `defineFlags` that do not exist. Needs `read`. */
export type MissingFlagsRequest = {
  /** With `multiTenant`: the organization of the flags. */
  readonly organizationId?: string;
};
/** A declared flag that does not exist. */
export type MissingFlag = {
  /** The key of the flag. */
  readonly key: string;
  /** The declared type. */
  readonly type: FlagType;
  /** The declared default, else the first of the declared values. */
  readonly value?: JsonValue;
  /** The only values that the flag may have. */
  readonly values?: readonly JsonValue[];
};
/** Declared flags that do not exist. */
export type MissingFlagsResponse = {
  /** In the order of the declaration, at most 100. */
  readonly flags: readonly MissingFlag[];
};

/** `POST feature-flags/console/evaluations`: evaluations of many flags in the last 24 hours. Needs `read`. */
export type EvaluationsRequest = {
  /** 1 to 200 flags. Flags that do not exist, or belong to another organization, have no evaluations. */
  readonly flagIds: readonly string[];
  /** With `multiTenant`: the organization of the flags. */
  readonly organizationId?: string;
};
/** Evaluations by flag and hour. */
export type EvaluationsResponse = {
  /** The time that the figures cover: whole hours, the last of which has not ended. */
  readonly window: StatsWindow;
  /** By id of the flag: one count per hour, oldest first. Flags without evaluations are absent. */
  readonly byFlag: Readonly<Record<string, readonly number[]>>;
};

/** `POST feature-flags/console/revision`: whether flags have changed. Needs `read`. */
export type RevisionRequest = {
  /** With `multiTenant`: the organization whose flags are asked about. */
  readonly organizationId?: string;
  /** Whether the response has a token for the socket of live flags. Default: false. */
  readonly watch?: boolean;
};
/** How new the flags are. */
export type RevisionResponse = {
  /** Grows with every change of a flag, rule, override or segment. */
  readonly revision: number;
  /** With it, the socket of live flags tells this user of every change for 2 minutes. */
  readonly watchToken?: string;
};

/**
 * `POST feature-flags/console/log` with `{}`: the audit log, newest first. The query is that of
 * `GET feature-flags/admin/audit`. Needs `audit`.
 */
export type LogResponse = {
  /** The entries that the query asks for. */
  readonly entries: readonly AuditEntry[];
  /** By id: the names of the users who made the changes, or impersonated those who did. Deleted users have none. */
  readonly names: Readonly<Record<string, string>>;
};

/** `POST feature-flags/console/verify-audit`: checks the hash chain. Needs `audit`. */
export type VerifyAuditRequest = { readonly organizationId?: string };
/** Whether the log is complete. */
export type VerifyAuditResponse = AuditVerdict;

/** `POST feature-flags/console/export-audit`: entries, oldest first, for a file. Needs `audit`. */
export type ExportAuditRequest = {
  /** With `multiTenant`: the organization whose log is read. */
  readonly organizationId?: string;
  /** Entries after this revision. Default 0. */
  readonly after?: number;
};
/** At most 200 entries. Ask again with `after` until `next` is absent. */
export type ExportAuditResponse = { readonly entries: readonly AuditEntry[]; readonly next?: number };

/** A process that serves the flags. */
export type FlagsProcess = {
  /** A random name, new at each start. */
  readonly id: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** The version of `@halyard/flags`. */
  readonly version: string;
  /** The revision of the global flags in memory. */
  readonly revision: number;
  /** Time since the database confirmed them; null if they are not in memory. */
  readonly snapshotAgeMs: number | null;
  /** Whether they may be out of date. */
  readonly stale: boolean;
  /** Whether the fast path answers requests. */
  readonly fastPath: "on" | "off";
};
/**
 * `POST feature-flags/console/processes` with `{}`: the process that answers, then those that answer it on the
 * notification bus within 1.5 s. Needs `read` on global flags.
 */
export type ProcessesResponse = {
  /** The processes. Only the one that answers, unless the bus is up. */
  readonly processes: readonly FlagsProcess[];
  /** The state of the bus in the process that answers. */
  readonly bus: "off" | "up" | "down";
};

/** An API key. The secret is shown once, in the response that creates it. */
export type ConsoleKey = {
  /** The id of the key. */
  readonly id: string;
  /** The name of the key. */
  readonly name?: string;
  /** The first characters of the secret. */
  readonly start?: string;
  /** The actions on flags that the key grants. */
  readonly actions: readonly FlagAction[];
  /** Whose the key is: the id of a user or an organization, or `service:<name>`; with the name of a user. */
  readonly owner: { readonly id: string; readonly name?: string };
  /** Whether it was made in the console: then it grants at most what its owner may do. */
  readonly isPersonal: boolean;
  /** Whether the key can be used. */
  readonly enabled: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. Absent if the key does not expire. */
  readonly expiresAt?: string;
  /** ISO 8601. Absent if the key was not used. */
  readonly lastUsedAt?: string;
};
/** `POST feature-flags/console/keys` with `{}`: the keys of all users for flags, newest first. Needs `keys` on global flags. */
export type KeysResponse = {
  /** The keys. */
  readonly keys: readonly ConsoleKey[];
  /**
   * Present if there may be others. `newest`: only the newest 1,000 are listed. `console`: the key plugin keeps keys in
   * secondary storage, which cannot be searched, so only those made in the console are listed.
   */
  readonly only?: "newest" | "console";
};
/** `POST feature-flags/console/create-key`. `actions` must be a subset of the user's own. Needs `keys`. */
export type CreateKeyRequest = {
  /** The name of the key. */
  readonly name: string;
  /** The actions on flags that the key grants. */
  readonly actions: readonly FlagAction[];
  /** 1 to 365. Default 90. */
  readonly expiresInDays?: number;
};
/** The new key, with its secret. */
export type CreateKeyResponse = ConsoleKey & {
  /** The secret. It cannot be read again. */
  readonly key: string;
};
/** `POST feature-flags/console/delete-key`: deletes anybody's key for flags. Needs `keys` on global flags. */
export type DeleteKeyRequest = { readonly id: string };

/** What each operation of the console returns, by the last part of its path. */
export type ConsoleAnswers = {
  /** Who uses the console. */
  readonly session: ConsoleState;
  /** Users who were found. */
  readonly people: PeopleResponse;
  /** Every flag of one user. */
  readonly person: PersonResponse;
  /** Evaluations over time. */
  readonly activity: ActivityResponse;
  /** Evaluations of many flags. */
  readonly evaluations: EvaluationsResponse;
  /** Declared flags that do not exist. */
  readonly "missing-flags": MissingFlagsResponse;
  /** Whether flags have changed. */
  readonly revision: RevisionResponse;
  /** The audit log, with names. */
  readonly log: LogResponse;
  /** Whether the log is complete. */
  readonly "verify-audit": VerifyAuditResponse;
  /** Entries for a file. */
  readonly "export-audit": ExportAuditResponse;
  /** The processes that serve the flags. */
  readonly processes: ProcessesResponse;
  /** The API keys of all users for flags. */
  readonly keys: KeysResponse;
  /** The new key. */
  readonly "create-key": CreateKeyResponse;
  /** Nothing. */
  readonly "delete-key": Record<string, never>;
};
