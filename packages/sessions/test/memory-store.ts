/** A session store in memory, for sessions that are watched. */
import { ChangeFeed } from "../src/changes/change-feed.ts";
import { type Row, toReading } from "../src/identify/session-caller.ts";
import { LiveSessions } from "../src/watched/live-sessions.ts";
import { Reconciliation } from "../src/watched/reconciliation.ts";

interface Stored {
  session: Record<string, unknown>;
  user: Record<string, unknown>;
  /** By organization. */
  members: Map<string, { id: string; role: string }>;
  version: number;
}

/** With versions, only sessions whose version has changed are read. */
export function createMemoryStore({ hasVersions = false } = {}) {
  const rows = new Map<string, Stored>();
  const store = {
    isDown: false,
    /** The sessions of each query. */
    read: [] as string[][],
    compared: [] as string[][],
    rows,
    sign(name: string, updatedAt = new Date()): { session: Row; user: Row } {
      const times = { updatedAt, expiresAt: new Date(9e12) };
      const session = { id: `session-${name}`, token: `token-${name}`, userId: name, ...times };
      const user = { id: name, email: `${name}@example.com`, updatedAt };
      rows.set(session.id, { session, user, members: new Map(), version: 1 });
      return { session, user };
    },
    /** Writes to the rows of a session, past this process. */
    write(name: string, work: (row: Stored) => void): void {
      const row = rows.get(`session-${name}`);
      if (row === undefined) throw new Error(`${name} has no session.`);
      row.version += 1;
      work(row);
    },
    end(name: string): void {
      rows.delete(`session-${name}`);
    },
  };
  const versions = {
    byValueMs: 600_000,
    minByValue: 0,
    async findChanged<Session extends { readonly key: string; readonly version: string | undefined }>(
      sessions: readonly Session[],
    ) {
      store.compared.push(sessions.map(({ key }) => key));
      await undefined;
      if (store.isDown) throw new Error("down");
      const versionOf = ({ key }: Session) => String(rows.get(key)?.version ?? 0);
      return new Map(
        sessions.flatMap((one) => (versionOf(one) === one.version ? [] : [[one, versionOf(one)] as const])),
      );
    },
  };
  const feed = new ChangeFeed();
  const sessions = new LiveSessions({
    feed,
    comparisons: hasVersions ? [versions] : [],
    report: () => undefined,
    reader: {
      isBatched: true,
      async read(names) {
        store.read.push(names.map(({ sessionId }) => sessionId));
        await undefined;
        if (store.isDown) throw new Error("down");
        return new Map(
          names.flatMap(({ sessionId, organizations, reading: last }) => {
            const row = rows.get(sessionId);
            if (row === undefined) return [];
            const others = organizations?.flatMap((organizationId) => {
              const member = row.members.get(organizationId);
              return member === undefined ? [] : [{ organizationId, ...member }];
            });
            const reading = toReading({ ...row.session }, { ...row.user }, undefined, others);
            const isSame = JSON.stringify(reading) === JSON.stringify(last);
            return [[sessionId, isSame && last !== undefined ? last : reading] as const];
          }),
        );
      },
    },
  });
  const reconciliation = new Reconciliation({ feed, report: () => undefined });
  reconciliation.add(sessions);
  return { store, sessions, reconciliation };
}
