/** The organization whose flags are shown, where the application has organizations. Empty: the global flags. */
import type { ConsoleSession } from "./types.ts";

let organization: string | undefined;
const listeners = new Set<() => void>();

export function currentOrganization(): string | undefined {
  return organization;
}

export function chooseOrganization(id: string): void {
  organization = id;
  for (const listener of listeners) listener();
}

export function subscribeOrganization(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The active organization of the session, else the global flags, else the first organization. A choice stays. */
export function startOrganization(session: ConsoleSession): void {
  const { multiTenant, organizations, activeOrganizationId, actions } = session;
  if (!multiTenant || organization !== undefined) return;
  const active = organizations.find(({ id }) => id === activeOrganizationId);
  const first = actions.length > 0 ? undefined : organizations[0];
  organization = (active ?? first)?.id ?? "";
}
