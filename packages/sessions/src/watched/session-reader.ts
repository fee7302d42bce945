/** Reads sessions with their users and memberships from the host's session store, many at once. */
import type { Where } from "@better-auth/core/db/adapter";
import { within } from "@halyard/base";
import { parseSessionOutput, parseUserOutput } from "better-auth/db";
import { hasOrganizations, isPossibleId } from "../identify/organizations.ts";
import type { HostContext } from "../identify/request.ts";
import {
  isBanned,
  isUnchanged,
  type Membership,
  type Row,
  type SessionReading,
  toReading,
} from "../identify/session-caller.ts";

/** A session that is looked for. Without its token it is found by its id, which needs sessions in the database. */
export interface SessionName {
  readonly sessionId: string;
  readonly token: string | undefined;
  /** The last reading of it. */
  readonly reading?: SessionReading | undefined;
  /** Organizations beside the active one, whose memberships are read too. */
  readonly organizations?: readonly string[] | undefined;
}

export interface SessionReader {
  /**
   * By id. A session that is missing, has expired, or whose user is gone or banned is not in the result. One whose rows did
   * not change has its last reading: the same object.
   */
  read(sessions: readonly SessionName[]): Promise<ReadonlyMap<string, SessionReading>>;
  /** Whether one query reads many sessions. */
  readonly isBatched: boolean;
}

type Stored = { readonly session: Row; readonly user: Row };

/** Deadline of each query about followed sessions. */
export const READING_TIMEOUT_MS = 5000;
/** Reads of secondary storage at the same time. */
const CONCURRENCY = 32;

export function createSessionReader(context: HostContext): SessionReader {
  const { adapter, options, internalAdapter } = context;
  const isInDatabase = options.secondaryStorage === undefined;

  async function findRows(model: string, where: Where[], limit: number): Promise<Row[]> {
    const reading = adapter.findMany<Row>({ model, where, limit });
    return within(
      reading,
      READING_TIMEOUT_MS,
      `The session store did not respond within ${READING_TIMEOUT_MS} ms.`,
    );
  }

  async function findByField(model: string, field: string, values: readonly string[]): Promise<Row[]> {
    if (values.length === 0) return [];
    return findRows(model, [{ field, operator: "in", value: [...values] }], values.length);
  }

  async function readDatabase(names: readonly SessionName[]): Promise<Stored[]> {
    const tokens = names.flatMap(({ token }) => token ?? []);
    const ids = names.flatMap(({ token, sessionId }) => (token === undefined ? [sessionId] : []));
    const sessions = [
      ...(await findByField("session", "token", tokens)),
      ...(await findByField("session", "id", ids)),
    ];
    const userIds = [...new Set(sessions.map(({ userId }) => String(userId)))];
    const users = new Map(
      (await findByField("user", "id", userIds)).map((user) => [String(user["id"]), user]),
    );
    return sessions.flatMap((session) => {
      const user = users.get(String(session["userId"]));
      return user === undefined ? [] : [{ session, user }];
    });
  }

  /** Secondary storage has no query for many keys. */
  async function readStorage(names: readonly SessionName[]): Promise<Stored[]> {
    const found: Stored[] = [];
    const waiting = [...names];
    const readNext = async (): Promise<void> => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        if (name.token === undefined) throw new Error("Secondary storage finds a session by its token only.");
        const stored = await internalAdapter.findSession(name.token);
        if (stored !== null) found.push(stored);
      }
    };
    const readers = Array.from({ length: Math.min(CONCURRENCY, names.length) }, readNext);
    const all = Promise.all(readers).then(() => found);
    return within(
      all,
      READING_TIMEOUT_MS,
      `The session store did not respond within ${READING_TIMEOUT_MS} ms.`,
    );
  }

  /** By user and organization. */
  async function readMemberships(
    stored: readonly Stored[],
    names: ReadonlyMap<string, SessionName>,
  ): Promise<Map<string, Membership>> {
    const memberships = new Map<string, Membership>();
    if (!hasOrganizations(context)) return memberships;
    const userIds = new Set<string>();
    const organizationIds = new Set<string>();
    for (const { session, user } of stored) {
      const { organizations = [] } = names.get(String(session["id"])) ?? {};
      for (const id of [session["activeOrganizationId"], ...organizations]) {
        if (typeof id !== "string" || id === "" || !isPossibleId(context, id)) continue;
        userIds.add(String(user["id"]));
        organizationIds.add(id);
      }
    }
    if (userIds.size === 0) return memberships;
    const where: Where[] = [
      { field: "userId", operator: "in", value: [...userIds] },
      { field: "organizationId", operator: "in", value: [...organizationIds] },
    ];
    for (const member of await findRows("member", where, userIds.size * organizationIds.size)) {
      const key = membershipKey(member["userId"], member["organizationId"]);
      memberships.set(key, { id: String(member["id"]), role: String(member["role"]) });
    }
    return memberships;
  }

  return {
    isBatched: isInDatabase,
    async read(names) {
      const known = new Map(names.map((name) => [name.sessionId, name]));
      const stored = await (isInDatabase ? readDatabase(names) : readStorage(names));
      const memberships = await readMemberships(stored, known);
      const nowMs = Date.now();
      const readings = new Map<string, SessionReading>();
      for (const { session, user } of stored) {
        if (isBanned(user, nowMs)) continue;
        const active = session["activeOrganizationId"];
        const membership = memberships.get(membershipKey(user["id"], active));
        const { reading: last, organizations } = known.get(String(session["id"])) ?? {};
        const others = organizations?.flatMap((organizationId) => {
          const other = memberships.get(membershipKey(user["id"], organizationId));
          return other === undefined || organizationId === active ? [] : [{ organizationId, ...other }];
        });
        // Better Auth copies rows for its output, which costs more than the comparison.
        const reading =
          last !== undefined && isUnchanged(last, session, user, membership, others)
            ? last
            : toReading(
                parseSessionOutput(options, session as Parameters<typeof parseSessionOutput>[1]),
                parseUserOutput(options, user as Parameters<typeof parseUserOutput>[1]),
                membership,
                others,
              );
        if (reading.caller.expiresAt > nowMs) readings.set(reading.caller.sessionId, reading);
      }
      return readings;
    },
  };
}

function membershipKey(userId: unknown, organizationId: unknown): string {
  return `${String(userId)} ${String(organizationId)}`;
}
