/** Finds the followed sessions that a change concerns. */
import type { IdentityChange } from "../changes/identity-change.ts";
import { sessionPrint } from "../changes/session-print.ts";
import type { LiveSession } from "./live-session.ts";

/** Nearly every key has one session, for which a set would take 200 bytes. */
type Sessions = LiveSession | Set<LiveSession>;

const NONE: readonly LiveSession[] = [];

/** What a session is found by depends on its reading, so it is removed before that is replaced, and added again. */
export class SessionIndex {
  readonly #byId = new Map<string, LiveSession>();
  readonly #byPrint = new Map<string, Sessions>();
  readonly #byUser = new Map<string, Sessions>();
  readonly #byMember = new Map<string, Sessions>();
  readonly #byOrganization = new Map<string, Sessions>();

  get size(): number {
    return this.#byId.size;
  }

  all(): IterableIterator<LiveSession> {
    return this.#byId.values();
  }

  get(sessionId: string): LiveSession | undefined {
    return this.#byId.get(sessionId);
  }

  add(live: LiveSession): void {
    for (const { kind, id } of subjectsOf(live)) {
      if (kind === "session-id") this.#byId.set(id, live);
      else addTo(this.#mapOf(kind), keyOf(kind, id), live);
    }
  }

  remove(live: LiveSession): void {
    for (const { kind, id } of subjectsOf(live)) {
      if (kind !== "session-id") removeFrom(this.#mapOf(kind), keyOf(kind, id), live);
      else if (this.#byId.get(id) === live) this.#byId.delete(id);
    }
  }

  /** A copy: what is done with the sessions may change the index. */
  concernedBy(change: IdentityChange): readonly LiveSession[] {
    if (change.kind === "unknown") return [...this.#byId.values()];
    const { kind, id } = change;
    const found = kind === "session-id" ? this.#byId.get(id) : this.#mapOf(kind).get(keyOf(kind, id));
    if (found === undefined) return NONE;
    return found instanceof Set ? [...found] : [found];
  }

  #mapOf(kind: Exclude<Subject["kind"], "session-id">): Map<string, Sessions> {
    switch (kind) {
      case "session":
      case "session-print":
        return this.#byPrint;
      case "user":
        return this.#byUser;
      case "member":
        return this.#byMember;
      case "organization":
        return this.#byOrganization;
    }
  }
}

type Subject = Exclude<IdentityChange, { kind: "unknown" }>;

/** The changes that concern a session, by its last reading. */
export function subjectsOf({ sessionId, token, reading }: LiveSession): readonly Subject[] {
  const subjects: Subject[] = [{ kind: "session-id", id: sessionId }];
  if (token !== undefined) subjects.push({ kind: "session", id: token });
  if (reading === undefined) return subjects;
  const { caller, memberId, activeOrganizationId, others = [] } = reading;
  subjects.push({ kind: "user", id: caller.userId });
  if (memberId !== undefined) subjects.push({ kind: "member", id: memberId });
  if (activeOrganizationId !== undefined) subjects.push({ kind: "organization", id: activeOrganizationId });
  for (const { id, organizationId } of others)
    subjects.push({ kind: "member", id }, { kind: "organization", id: organizationId });
  return subjects;
}

/** The same for a token and for its print. */
function keyOf(kind: Subject["kind"], id: string): string {
  return kind === "session" ? sessionPrint(id) : id;
}

function addTo(index: Map<string, Sessions>, key: string, live: LiveSession): void {
  const sessions = index.get(key);
  if (sessions === undefined) index.set(key, live);
  else if (sessions instanceof Set) sessions.add(live);
  else if (sessions !== live) index.set(key, new Set([sessions, live]));
}

function removeFrom(index: Map<string, Sessions>, key: string, live: LiveSession): void {
  const sessions = index.get(key);
  if (sessions === live) index.delete(key);
  else if (sessions instanceof Set && sessions.delete(live) && sessions.size === 0) index.delete(key);
}
