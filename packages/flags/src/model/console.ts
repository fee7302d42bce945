/** What only the console asks of the server: requests and responses. */
import type { EvaluationReason, FlagType, RuleConditions } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { FlagAction } from "./action.ts";
import type { AuditEntry, AuditVerdict } from "./audit.ts";
import type { PlannedUsers } from "./plan.ts";
import type { StatsWindow } from "./stats.ts";

/** An organization that the user may choose. */
export type ConsoleOrganization = {
  readonly id: string;
  readonly name: string;
  readonly slug?: string;
  readonly logo?: string;
  /** What the user may do with the organization's flags. */
  readonly actions: readonly FlagAction[];
};

/** Who uses the console, and what it may show. */
export type ConsoleState = {
  /** Absent if nobody is signed in, or the session has ended. */
  readonly user?: {
    readonly id: string;
    readonly name: string;
    readonly email: string;
    readonly image?: string;
    /** The admin who impersonates the user. */
    readonly impersonatedBy?: string;
  };
  /** Whether users can sign in with `POST auth/sign-in/email`. */
  readonly emailAndPassword: boolean;
  readonly multiTenant: boolean;
  /** With `multiTenant`: the organizations of the user with at least one action. */
  readonly organizations: readonly ConsoleOrganization[];
  /** With `multiTenant`: the organization that is active in the session. */
  readonly activeOrganizationId?: string;
  /** What the user may do with global flags; without `multiTenant`, with all flags. */
  readonly actions: readonly FlagAction[];
  readonly environments: { readonly default?: string; readonly claimable?: readonly string[] };
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
export type Person = {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly image?: string;
  readonly role?: string;
  readonly organizationRole?: string;
  /** ISO 8601. */
  readonly createdAt: string;
};
export type PeopleResponse = { readonly people: readonly Person[]; readonly nextCursor?: string };

/** `POST feature-flags/console/person`: every flag of one user. Needs `evaluate-as`. */
export type PersonRequest = {
  readonly userId: string;
  readonly organizationId?: string;
  readonly environment?: string;
};
export type PersonFlag = {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly type: FlagType;
  /** The organization of the flag, if it has one. */
  readonly organizationId?: string;
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason: EvaluationReason;
  /** The value depends on what the user claims in a request; shown is the value without claims. */
  readonly unknown?: true;
  /** The override of the user, if there is one. `DELETE feature-flags/admin/overrides/:id` removes it. */
  readonly overrideId?: string;
};
export type PersonResponse = { readonly person: Person; readonly flags: readonly PersonFlag[] };

/** `POST feature-flags/console/matches`: how many users match conditions. Needs `evaluate-as`. */
export type MatchesRequest = {
  /** As in a rule. */
  readonly conditions: RuleConditions;
  readonly organizationId?: string;
};
export type MatchesResponse = {
  readonly matching: number;
  /** Users for whom the conditions depend on what they claim. */
  readonly unknown: number;
  readonly users: PlannedUsers;
  /** At most 5 of the matching users. */
  readonly examples: readonly Pick<Person, "id" | "name" | "email">[];
};

/** `POST feature-flags/console/activity`: evaluations over time. Needs `read`. */
export type ActivityRequest = {
  /** Of one flag. Default: all flags. */
  readonly flagId?: string;
  readonly organizationId?: string;
  /** ISO 8601. Default: the last 7 days. */
  readonly start?: string;
  readonly end?: string;
};
export type ActivityResponse = {
  readonly window: StatsWindow;
  /** One entry per hour with evaluations, oldest first. */
  readonly hours: readonly {
    readonly at: string;
    readonly byReason: Partial<Record<EvaluationReason, number>>;
  }[];
};

/** `POST feature-flags/console/verify-audit`: checks the hash chain. Needs `audit`. */
export type VerifyAuditRequest = { readonly organizationId?: string };
export type VerifyAuditResponse = AuditVerdict;

/** `POST feature-flags/console/export-audit`: entries, oldest first, for a file. Needs `audit`. */
export type ExportAuditRequest = {
  readonly organizationId?: string;
  /** Entries after this revision. Default 0. */
  readonly after?: number;
};
/** At most 200 entries. Ask again with `after` until `next` is absent. */
export type ExportAuditResponse = { readonly entries: readonly AuditEntry[]; readonly next?: number };

/** An API key. The secret is shown once, in the response that creates it. */
export type ConsoleKey = {
  readonly id: string;
  readonly name?: string;
  /** The first characters of the secret. */
  readonly start?: string;
  readonly actions: readonly FlagAction[];
  readonly enabled: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly lastUsedAt?: string;
};
/** `POST feature-flags/console/keys` with `{}`: the user's own keys for flags. Needs `keys` on global flags. */
export type KeysResponse = { readonly keys: readonly ConsoleKey[] };
/** `POST feature-flags/console/create-key`. `actions` must be a subset of the user's own. Needs `keys`. */
export type CreateKeyRequest = {
  readonly name: string;
  readonly actions: readonly FlagAction[];
  /** 1 to 365. Default: the key does not expire. */
  readonly expiresInDays?: number;
};
export type CreateKeyResponse = ConsoleKey & {
  /** The secret. It cannot be read again. */
  readonly key: string;
};
/** `POST feature-flags/console/delete-key`. Needs `keys`. */
export type DeleteKeyRequest = { readonly id: string };
