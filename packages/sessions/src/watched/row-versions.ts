/**
 * Finds changed sessions in PostgreSQL by the versions of their rows: one query for thousands of them, which returns only
 * those with a row that was written, inserted or deleted, whatever the column, by Better Auth or past it.
 */
import { hasOrganizations } from "../identify/organizations.ts";
import type { HostContext } from "../identify/request.ts";
import { HostPool, isNotSupported, isVersion, type PoolRow } from "./host-pool.ts";
import type { LiveSession } from "./live-session.ts";
import type { Comparison } from "./watched-rows.ts";

/** Sessions in one query. */
const MAX_BLOCK = 5000;
/** Differs from every version, also from that of a session without rows. */
const UNKNOWN = "?";

/** Undefined where the sessions are not in PostgreSQL, or not reached by a pool of `pg`. */
export function createRowVersions(context: HostContext): Comparison<LiveSession> | undefined {
  const pool = context.options.secondaryStorage === undefined ? HostPool.of(context) : undefined;
  if (pool === undefined) return undefined;
  const text = queryOf(context, pool, false);
  const textWithOthers = queryOf(context, pool, true);
  let isSupported = true;
  let blocks: readonly Block[] = [];

  const compare = ({ tokens, versions, organizations }: Block): Promise<readonly PoolRow[]> =>
    organizations === undefined
      ? pool.query(text, [tokens, versions])
      : pool.query(textWithOthers, [tokens, versions, organizations]);

  return {
    byValueMs: 600_000,
    minByValue: 0,
    async findChanged(sessions) {
      const changed = new Map<LiveSession, string>();
      const kept = blocks;
      const made: Block[] = [];
      try {
        for (let start = 0; isSupported && start < sessions.length; start += MAX_BLOCK) {
          const block = blockOf(sessions, start, kept[made.length]);
          made.push(block);
          for (const session of block.unlisted) changed.set(session, UNKNOWN);
          for (const { at, version } of await compare(block)) {
            const session = block.listed[Number(at) - 1];
            const found = String(version);
            if (!isVersion(found)) isSupported = false;
            if (session !== undefined) changed.set(session, found);
          }
        }
      } catch (error) {
        if (!isNotSupported(error)) throw error;
        isSupported = false;
      }
      // Those of a few sessions, for requests that wait, are made each time.
      const keptCount = kept.reduce((sum, block) => sum + block.sessions.length, 0);
      if (2 * sessions.length >= keptCount) blocks = made;
      return isSupported ? changed : undefined;
    },
  };
}

/** Sessions of one query, as two texts: one parameter for each session would dominate the time of the query. */
interface Block {
  readonly sessions: readonly LiveSession[];
  readonly known: readonly (string | undefined)[];
  readonly listed: readonly LiveSession[];
  /** Those whose token is not one line. */
  readonly unlisted: readonly LiveSession[];
  readonly tokens: string;
  readonly versions: string;
  /** Undefined if no session has any beside its active one. */
  readonly organizations: string | undefined;
}

/** The block from the last comparison, if nothing has changed since: at rest, its texts are made once. */
function blockOf(sessions: readonly LiveSession[], start: number, last: Block | undefined): Block {
  const count = Math.min(MAX_BLOCK, sessions.length - start);
  if (last !== undefined && isSame(last, sessions, start, count)) return last;
  const block = sessions.slice(start, start + count);
  const isLine = ({ token }: LiveSession) => token !== undefined && !token.includes("\n");
  const listed = block.filter(isLine);
  return {
    sessions: block,
    known: block.map(({ version }) => version),
    listed,
    unlisted: listed.length === block.length ? [] : block.filter((session) => !isLine(session)),
    tokens: listed.map(({ token }) => token).join("\n"),
    versions: listed.map(({ version = UNKNOWN }) => version).join("\n"),
    organizations: listed.some(({ organizations }) => organizations !== undefined)
      ? listed.map(({ organizations = [] }) => organizations.join(" ")).join("\n")
      : undefined,
  };
}

/** A token changes with the version of its row only. */
function isSame(last: Block, sessions: readonly LiveSession[], start: number, count: number): boolean {
  if (last.sessions.length !== count) return false;
  for (let at = 0; at < count; at += 1) {
    const session = sessions[start + at];
    if (session !== last.sessions[at] || session?.version !== last.known[at]) return false;
  }
  return true;
}

/**
 * A row's version is the number of the transaction that wrote it, `xmin`: no later version of the row has the same. Of a
 * session these are the rows of the session, of its user, and of the user's membership in the active organization. With
 * others, the memberships in the organizations of a third parameter count too.
 */
function queryOf(context: HostContext, pool: HostPool, hasOthers: boolean): string {
  const table = (model: string) => pool.table(model);
  const column = (alias: string, model: string, field: string) => pool.column(alias, model, field);
  const hasMembers = hasOrganizations(context);
  // The id of the active organization is a text in every host, that of a member's may be a number or a UUID.
  const ofUser = `${column("m", "member", "userId")} = ${column("u", "user", "id")}`;
  const active = `${column("s", "session", "activeOrganizationId")}::text`;
  const organization = `${column("m", "member", "organizationId")}::text`;
  const member = `left join ${table("member")} m on ${ofUser} and ${organization} = ${active} `;
  const members =
    `left join lateral (select string_agg(m.xmin::text, '.' order by ${column("m", "member", "id")}) as xmins ` +
    `from ${table("member")} m where ${ofUser} ` +
    `and ${organization} = any (string_to_array(known.organizations, ' ') || ${active})) m on true `;
  const version = `concat_ws(',', s.xmin, u.xmin${hasMembers ? (hasOthers ? ", m.xmins" : ", m.xmin") : ""})`;
  const lines = (parameter: number) => `string_to_array($${parameter}, E'\\n')`;
  return (
    `select known.at, ${version} as version ` +
    `from unnest(${lines(1)}, ${lines(2)}${hasOthers ? `, ${lines(3)}` : ""}) ` +
    `with ordinality as known (token, version${hasOthers ? ", organizations" : ""}, at) ` +
    `left join ${table("session")} s on ${column("s", "session", "token")} = known.token ` +
    `left join ${table("user")} u on ${column("u", "user", "id")} = ${column("s", "session", "userId")} ` +
    (hasMembers ? (hasOthers ? members : member) : "") +
    `where known.version is distinct from ${version}`
  );
}
