/** Causes and remedies for the error codes, warnings and log lines of `@halyard/flags`. */

import {
  FEATURE_FLAG_ERROR_CODES,
  FeatureFlagError,
  type FeatureFlagErrorCode,
} from "../../packages/flags/src/model/errors.ts";
import type { FlagWarningCode } from "../../packages/flags/src/model/warning.ts";
import type { Catalogue, LogEntry, Remedy } from "./entries.ts";

const CODES: Readonly<Record<FeatureFlagErrorCode, Remedy>> = {
  FLAG_NOT_FOUND: {
    why: "The flag, rule, segment or override does not exist, or belongs to another organization. The response is the same in both cases.",
    todo: "Check the key or id, and the active organization of the session. An evaluation of a missing flag does not fail: it returns your `default` with the reason `not_found`.",
  },
  INVALID_FLAG_TYPE: {
    why: "The type of a flag is unknown, or a value does not fit the type or the declared shape.",
    todo: "Send a value of the flag's type. If the flag is declared with `defineFlags`, change the value or the declaration.",
  },
  EVALUATION_ERROR: {
    why: "The server failed to evaluate a flag, for example because a stored rule is invalid.",
    todo: "Read the cause in the server's log, then correct the flag. `flags.isEnabled()` and `flags.getValue()` return the default during this time.",
  },
  PERMISSION_DENIED: {
    why: "The caller is not signed in (401), or its role or key does not allow the operation (403). Claiming another user's identity also gets this code.",
    todo: "Sign in, or grant the permission that the message names. `makeFeatureFlagAdmin(auth, email)` creates the first admin; see [Permissions](flags-permissions.md).",
  },
  VALIDATION_ERROR: {
    why: "A field of the request is invalid (400), or the stored object changed after you read it (409).",
    todo: "Read `details.issues`, which lists the fields. For 409, read the object again and repeat the change with its new `version`.",
  },
  STORAGE_ERROR: {
    why: "The database did not respond, its tables are missing, or it cannot roll back a transaction. With 503, this process has not read the flags yet.",
    todo: "Read the cause in the server's log. Run the migration if a table is missing. Retry after a 503.",
  },
  RATE_LIMIT_EXCEEDED: {
    why: "The caller sent too many requests, or more events wait than the server may keep.",
    todo: "Wait `retryAfter` seconds. Evaluate several flags in one request, or raise the limit; see [Rate limits](flags-rate-limits.md).",
  },
};

const WARNINGS: Readonly<Record<FlagWarningCode, Remedy>> = {
  OFF_CHANGES_NOTHING: {
    why: "The flag has the same value when it is enabled and when it is disabled, so its switch cannot stop the feature.",
    todo: "Set `offValue`, or add a rule, a rollout or variants. See [Turning a flag off](flags-kill-switch.md).",
  },
  UNKNOWN_ATTRIBUTE: {
    why: "A condition reads an attribute that is always missing, or whose name is probably misspelt.",
    todo: "Correct the name. If callers send it, write `attributes.<name>`; if your database has it, list it in the option `trusted`.",
  },
  CLAIMED_ATTRIBUTE: {
    why: "A condition reads what callers claim, although your application has a trusted attribute of that name.",
    todo: "Write `user.plan` for the value in the database, or `attributes.plan` for the claim. See [Trusted attributes](flags-trusted.md).",
  },
  UNKNOWN_USER: {
    why: 'An override names an id that no user has. It looks like an email, or `identity` is `"verified"`. The override applies only where server code or an API key evaluates for this id.',
    todo: "For a user who signs in, use the id of the user. See [Overrides](flags-overrides.md).",
  },
};

const LOGS: readonly LogEntry[] = [
  {
    text: 'The database has no … "…". Run',
    why: "The migration did not run after the plugin was added or updated.",
    todo: "Run `npx auth migrate`. With Drizzle or Prisma, run `npx auth generate`, then your own migration.",
  },
  {
    text: "The tables of the option `postgres` are missing or older than this version.",
    why: "The option `postgres` needs its own tables, and the migration did not run on this database and schema.",
    todo: "Run the SQL text `featureFlagsPostgresMigration` before each deploy. See [PostgreSQL](flags-postgres.md).",
  },
  {
    text: "this database set-up does not roll back a failed transaction",
    why: "A test write of the plugin was not rolled back. Without rollback, a change could be stored in part, so the plugin refuses writes.",
    todo: "Pass the driver itself as `database`, or set `transaction: true` in the Drizzle or Prisma adapter. On MySQL, use InnoDB.",
  },
  {
    text: "Flags can be read, but not changed: the database adapter runs no transactions.",
    why: "The Drizzle and the Prisma adapter of Better Auth run transactions only with the option `transaction: true`. Without them, a change could be stored in part.",
    todo: "Set the option. See [Drizzle](flags-drizzle.md) and [Prisma](flags-prisma.md).",
  },
  {
    text: "inside another transaction before this process has proved",
    why: "The first change of this process ran inside a transaction of your own, where the plugin cannot test the rollback.",
    todo: "Make the first change outside of a transaction.",
  },
  {
    text: "The option identity is not set, so a visitor who is not signed in may claim any userId and reads the values of that user.",
    why: "In production, the plugin was started without the option `identity`. Its default is `claimed`.",
    todo: 'Add `identity: "verified"`, or `identity: "claimed"` if visitors may evaluate for any user. See [Permissions](flags-permissions.md).',
  },
  {
    text: "The flags cannot be read from the database. The last good snapshot is used until they can.",
    why: "The database is unavailable. Evaluations continue with the last snapshot and report `stale: true`.",
    todo: "Restore the database. The process reads the flags again by itself.",
  },
  {
    text: "The flags in the database are invalid. The last good snapshot is used.",
    why: "A program other than the plugin wrote to the tables, or a newer version wrote a flag that this version does not know.",
    todo: "Correct the row that the error names, or deploy the newer version to all processes.",
  },
  {
    text: "The flags of a tenant cannot be read.",
    why: "The database did not respond to the query for one organization.",
    todo: "Check the database. The process retries by itself.",
  },
  {
    text: "The audit history in the database has changed, probably because a backup was restored.",
    why: "A revision in the database differs from the one in memory.",
    todo: "If you restored a backup, nothing: all flags were read again. Otherwise verify the [audit log](flags-audit.md).",
  },
  {
    text: "The database is at revision …, older than the flags in memory.",
    why: "A backup was restored, or this process reads a replica that lags behind.",
    todo: "After a restore, restart the process.",
  },
  {
    text: "The bus is down.",
    why: "The connection of the option `bus` or `postgres` for announcements was lost. Changes of other processes arrive by polling, within 500 ms.",
    todo: "Check the server and the network of the bus, and the connection limit of PostgreSQL. The bus reconnects by itself.",
  },
  {
    text: "The bus did not accept a message.",
    why: "The server behind the option `bus` did not take an announcement. Changes of other processes arrive by polling, within 500 ms.",
    todo: "Check the server and the network of the bus. Announcements continue by themselves.",
  },
  {
    text: "The flags of a subscribed connection could not be evaluated. They are evaluated again.",
    why: "The flags, the session or trusted attributes could not be read for a connection with live flags. It is tried again after 1 s.",
    todo: "Check the database. If the message repeats, the error beside it tells the cause.",
  },
  {
    text: "A subscription to flags failed.",
    why: "A client subscribed to live flags, and an unexpected error ended the attempt. The client retries or polls.",
    todo: "The error beside it tells the cause.",
  },
  {
    text: "An idle connection of the PostgreSQL pool broke.",
    why: "PostgreSQL restarted, or a proxy closed an idle connection.",
    todo: "Nothing: the pool opens a new one.",
  },
  {
    text: "onAuditHead failed, so this head of the audit log may not be kept elsewhere.",
    why: "Your function `onAuditHead` threw or took too long.",
    todo: "Correct the function. The change itself was stored.",
  },
  {
    text: "Events past their retention cannot be deleted now.",
    why: "The database did not respond to the clean-up.",
    todo: "Nothing, unless it repeats: the next sweep retries.",
  },
  {
    text: "Events cannot be counted now.",
    why: "The database did not respond while the plugin added events to the hourly counts.",
    todo: "Check the database. The events are stored, and the next write or statistics request counts them.",
  },
  {
    text: "Evaluation counts cannot be written now.",
    why: "The database did not respond to the statistics.",
    todo: "Check the database. The counts are kept in memory and retried.",
  },
  {
    text: "Exposures cannot be recorded now.",
    why: "The database did not respond to the exposures.",
    todo: "Check the database. The exposures are kept in memory and retried.",
  },
  {
    text: "The statistics of a deleted flag cannot be deleted now.",
    why: "The database did not respond when a flag was deleted.",
    todo: "Nothing: they expire with their retention.",
  },
  {
    text: "… …; … since the start.",
    why: "Exposures, counts or events were lost, because the queue was full or the retry period ended. The line names which and how many.",
    todo: "Find the earlier line that reports the cause. The metric `halyard_flags_lost_total` counts them.",
  },
  {
    text: "Events of sinks that are no longer configured cannot be deleted now.",
    why: "The database did not respond to the clean-up of a removed sink.",
    todo: "Nothing: the next sweep retries.",
  },
  {
    text: "… (sink …)",
    why: "This is the form of every line about an event sink; the name of the sink stands at the end.",
    todo: "Read the beginning of the line; each has an entry on this page.",
  },
  {
    text: "Events cannot be delivered now. They are retried for 48 h.",
    why: "The receiver of a sink is down or answers with an error.",
    todo: "Restore the receiver within 48 h. See [Events](flags-events.md).",
  },
  {
    text: "The outbox cannot be read now. Its events are kept.",
    why: "The database did not respond to the process that delivers events.",
    todo: "Check the database. The process retries by itself.",
  },
  {
    text: "The lease of the sink cannot be renewed.",
    why: "The database did not respond in time, so another process may deliver the events.",
    todo: "Check the database.",
  },
  {
    text: "The lease of the sink cannot be released.",
    why: "The database did not respond while the process shut down.",
    todo: "Nothing: the lease expires, and another process takes it.",
  },
  {
    text: "The rate limit store does not respond.",
    why: "Redis or the secondary storage is down. Each process counts alone during this time.",
    todo: "Restore the store.",
  },
  {
    text: "Rate limits are off: one caller can overload this server.",
    why: "The option `rateLimit` is `false`, or Better Auth's rate limit is off in production.",
    todo: "Set `rateLimit`, unless a proxy limits requests.",
  },
  {
    text: "Rate limits are counted in memory, so each process permits the full limit.",
    why: "Several processes run without a shared store.",
    todo: "Set `rateLimit.store`, or give Better Auth a `secondaryStorage` with `increment`.",
  },
  {
    text: "The network address of a caller is unknown, so all such callers share one rate limit.",
    why: "The server stands behind a proxy, and Better Auth does not know which header has the address.",
    todo: "Set `advanced.ipAddress.ipAddressHeaders` or `trustedProxies` of Better Auth. See [Rate limits](flags-rate-limits.md).",
  },
  {
    text: "More than … callers are over their rate limit at the same time",
    why: "Many addresses exceed their limit, as in an attack.",
    todo: "Block these callers at a proxy.",
  },
  {
    text: "Server code evaluates flags in the environment …: … Rules for named environments are skipped.…",
    why: "Server code or its API key names an environment that the option `environments.list` does not have, so the flag's own settings apply.",
    todo: "Correct the name, or add it to `environments.list`. See [Environments](flags-environments.md#a-list-of-environments).",
  },
  {
    text: "Declared and stored flags differ.",
    why: "A flag in `defineFlags` is missing in the database, or is stored with another type, value or variant.",
    todo: "Change the declaration or the stored flag. The line lists each difference.",
  },
  {
    text: 'Flag "…" is not as declared: value….',
    why: "The stored value does not fit the declaration, so the read returned the default.",
    todo: "Change the stored flag or its declaration.",
  },
  {
    text: 'The flag "…" could not be evaluated. The default is used.',
    why: "The evaluation on the server failed, or the call does not say for whom. The error follows on the same line.",
    todo: "Correct the cause that the error names, often the database. Each call needs `headers`, `context` or `server: true`.",
  },
  {
    text: "The flags could not be evaluated. The page is rendered with defaults.",
    why: "The evaluation for server rendering failed, or the call does not say for whom. The error follows on the same line.",
    todo: "Correct the cause that the error names, often the database. Each call needs `headers`, `context` or `server: true`.",
  },
  {
    text: "A request could not be answered.",
    why: "The fast path failed with an unexpected error, and the caller received 500.",
    todo: "Read the error on the same line. Set `fastPath: false` to let Better Auth answer all requests.",
  },
  {
    text: "The fast path of withFeatureFlags is off: …",
    why: "Better Auth has hooks or plugins that must see every request. The line names them.",
    todo: 'Nothing, if the speed is sufficient. If they do not matter for flags, set `fastPath: "force"`. See [The fast path](flags-fast-path.md).',
  },
  {
    text: "withFeatureFlags leaves … to Better Auth: ….",
    why: "A plugin has a middleware for this route.",
    todo: "Nothing: the route works, at the speed of Better Auth.",
  },
  {
    text: "trusted.compute failed.",
    why: "Your function `trusted.compute` threw, took longer than 1 s, or returned a value that is not an object of JSON values.",
    todo: "Correct the function, or the service that it calls. See [Trusted attributes](flags-trusted.md).",
  },
  {
    text: "The trusted attributes of a … could not be read.",
    why: "The database did not respond to the query for rows of users, sessions or organizations.",
    todo: "Check the database. Rules that read these attributes are skipped after 10 minutes.",
  },
  {
    text: "It is unknown which users are online, because the source of it failed.",
    why: "Your function `online` threw, or took longer than 1 s.",
    todo: 'Correct the function. Until then, plans say `onlineSource: "none"`. See [Impact before a change](flags-plan.md#options).',
  },
  {
    text: "The metrics could not be reported to OpenTelemetry.",
    why: "`@opentelemetry/api` is installed, but its meter failed.",
    todo: "Check the OpenTelemetry set-up of the process.",
  },
  {
    text: "A flag was read before there are flag definitions. Defaults are used. Wait for ready.",
    why: "A process with `createRemoteFlags` reads a flag before the server or the file gave it definitions.",
    todo: "Wait for `flags.ready` at the start. See [Remote evaluation](flags-remote.md).",
  },
  {
    text: 'The flag "…" reads trusted attributes (…) that only the server can look up',
    why: "A rule reads `user`, `session`, `organization` or `trusted`, and a process with `createRemoteFlags` has no database.",
    todo: "Pass the attribute in the context of the evaluation.",
  },
  {
    text: "A listener of the flags failed.",
    why: "A function that is told of changed flags, such as one that you passed to `on` of a subscription, threw an error, or its promise was rejected.",
    todo: "Correct the function. The flags are not affected.",
  },
  {
    text: "A callback of the remote flags failed.",
    why: "A function that you passed to `onChange`, `onState` or `onError` threw an error, or its promise was rejected.",
    todo: "Correct the function. The flags are not affected.",
  },
  {
    text: 'The event "…" was not tracked. Add flagKey to its details.',
    why: "OpenFeature's `track` has no flag, and an event belongs to one.",
    todo: "Add `flagKey` to the details.",
  },
  {
    text: 'The event "…" was not tracked.',
    why: "The provider of OpenFeature could not record the event. The error follows on the same line.",
    todo: "Correct the cause that the error names.",
  },
  {
    text: "Flags could not be fetched: …",
    why: "The browser got no valid response from the server. Reads return defaults until it does.",
    todo: "Check that Better Auth is mounted at `basePath`, and that `baseURL` of the client is right.",
  },
  {
    text: "No response from the server: …",
    why: "The server is unreachable, or CORS forbids the request.",
    todo: "Check the address, and `trustedOrigins` of Better Auth if the page has another origin.",
  },
  {
    text: "The server does not answer … requests (…).",
    why: "Only GET and POST are mounted, as in many examples of Better Auth for Next.js.",
    todo: "Mount GET, POST, PATCH and DELETE. See [Mounting](flags-mounting.md).",
  },
  {
    text: 'isEnabled("…"): the flag is not boolean.',
    why: "The stored flag has another type.",
    todo: "Read it with `getValue`.",
  },
  {
    text: "setOverride had no effect, because NODE_ENV is not set.",
    why: "Local overrides work only in development and tests, and the bundler did not set `NODE_ENV`.",
    todo: "Set `NODE_ENV` to `development` or `test`.",
  },
  {
    text: "… events are unacknowledged.",
    why: "The server does not accept events, and the client's queue is full.",
    todo: "Check the connection and the rate limit. Further events are dropped until the server accepts some.",
  },
  {
    text: "The batch was not accepted: …",
    why: "The server refused a batch of events. The line has the reason.",
    todo: "Correct the events; see [Events](flags-events.md).",
  },
  {
    text: "waitUntil: …",
    why: "The function `waitUntil` that you passed threw an error.",
    todo: "Pass the function of the current request, bound to its context. See [Workers](flags-workers.md).",
  },
  {
    text: "Set waitUntil to report exposures.",
    why: "On a serverless runtime the client cannot send exposures after the response without `waitUntil`.",
    todo: "Pass the runtime's `waitUntil`. See [Workers](flags-workers.md).",
  },
  {
    text: 'No exposure of "…".',
    why: "The flags were evaluated without exposure tokens.",
    todo: "Evaluate them with `exposures: true`. See [Server rendering](flags-ssr.md).",
  },
  {
    text: 'The value of flag "…" is not as declared; reads return the default.',
    why: "The stored value does not fit the declaration in the page.",
    todo: "Change the stored flag or its declaration.",
  },
  {
    text: 'Variant "…" of flag "…" is not declared; reads return none.',
    why: "The stored flag has a variant that the declaration in the page does not have.",
    todo: "Add the variant to the declaration.",
  },
];

export const flags: Catalogue = {
  page: "docs/guide/flags-troubleshooting.md",
  title: "Flags: troubleshooting",
  opening:
    "Find an error code, a warning or a log line of `@halyard/flags`, with its cause and what to do. Search this page for the text you see; `…` stands for a value.",
  sources: ["packages/flags/src/", "packages/devtools/src/toolbar/"],
  codes: Object.entries(FEATURE_FLAG_ERROR_CODES).map(([code, { message }]) => ({
    code,
    facts: `Status ${new FeatureFlagError(code as FeatureFlagErrorCode).status} by default: “${message}”`,
    remedy: CODES[code as FeatureFlagErrorCode],
  })),
  more: [
    {
      heading: "Warnings in responses",
      opening: "The response to a write can have `warnings`. The change was stored.",
      items: Object.entries(WARNINGS).map(([name, remedy]) => ({ name, remedy })),
    },
  ],
  logs: LOGS,
  parts: [],
  related:
    "[HTTP reference](flags-http.md) · [Permissions](flags-permissions.md) · [Mounting](flags-mounting.md) · [Production](flags-operations.md)",
};
