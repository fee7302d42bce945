/** A session that this process follows. */
import type { SessionReading } from "../identify/session-caller.ts";
import type { SessionListener } from "./session-listener.ts";
import { WatchedRow } from "./watched-rows.ts";

/** Shared by all sessions without listeners. */
const NO_LISTENERS: readonly SessionListener[] = [];

export class LiveSession extends WatchedRow {
  /** Never changed in place. */
  listeners: readonly SessionListener[] = NO_LISTENERS;
  /** Undefined for a session that was restored by its id, until it is read. */
  token: string | undefined;
  reading: SessionReading | undefined;
  /** Organizations beside the active one in which callers have named their membership. */
  organizations: readonly string[] | undefined;
  /** Without listeners, it is kept until then. Monotonic time. */
  keptUntilMs = 0;
  /** Whether the store has answered that the session does not hold. */
  hasEnded = false;

  constructor(sessionId: string, token: string | undefined) {
    super(sessionId);
    this.token = token;
  }

  get sessionId(): string {
    return this.key;
  }

  keepFor(ms: number): void {
    this.keptUntilMs = Math.max(this.keptUntilMs, performance.now() + ms);
  }

  /** False if its membership in this organization is read already. */
  addOrganization(organizationId: string): boolean {
    if (this.organizations?.includes(organizationId) === true) return false;
    this.organizations = [...(this.organizations ?? []), organizationId];
    this.version = undefined;
    return true;
  }

  addListener(listener: SessionListener): void {
    if (!this.listeners.includes(listener)) this.listeners = [...this.listeners, listener];
  }

  removeListener(listener: SessionListener): void {
    this.listeners = this.listeners.filter((other) => other !== listener);
  }
}
