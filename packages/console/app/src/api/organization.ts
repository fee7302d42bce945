/** The organization whose flags are shown, where the application has organizations. Empty: the global flags. */
import type { ConsoleSession } from "./types.ts";

/** Stands for the global flags in the address. */
const GLOBAL = "global";

let organization: string | undefined;

export function currentOrganization(): string | undefined {
  return organization;
}

/**
 * Takes the organization in the address; without one the active organization of the session, else the global flags, else
 * the first organization. Called before the screens read it.
 */
export function chooseOrganization(session: ConsoleSession, inAddress: string | undefined): void {
  organization = session.multiTenant ? (fromAddress(inAddress) ?? startOf(session)) : undefined;
}

export function toAddress(id: string): string {
  return id === "" ? GLOBAL : id;
}

function fromAddress(text: string | undefined): string | undefined {
  return text === GLOBAL ? "" : text;
}

function startOf({ organizations, activeOrganizationId, actions }: ConsoleSession): string {
  const active = organizations.find(({ id }) => id === activeOrganizationId);
  const first = actions.length > 0 ? undefined : organizations[0];
  return (active ?? first)?.id ?? "";
}
