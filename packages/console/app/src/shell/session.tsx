/** The signed-in person and what they may do, for every screen. */
import { createContext, type ReactNode, useContext } from "react";
import { currentOrganization } from "../api/organization.ts";
import type { ConsoleSession, FlagAction } from "../api/types.ts";

export type SignedIn = ConsoleSession & { readonly user: NonNullable<ConsoleSession["user"]> };

const SessionContext = createContext<SignedIn | undefined>(undefined);

export function SessionProvider({
  session,
  children,
}: {
  session: SignedIn;
  children: ReactNode;
}): ReactNode {
  return <SessionContext value={session}>{children}</SessionContext>;
}

export function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("useSession() needs a SessionProvider above it.");
  return session;
}

/** Whether the person has the action. Controls that need it are absent or disabled without it; the server decides. */
export function useMay(): (action: FlagAction) => boolean {
  const { actions, organizations } = useSession();
  const chosen = organizations.find(({ id }) => id === currentOrganization());
  const granted = chosen?.actions ?? actions;
  // Keys belong to the person, not to an organization.
  return (action) => (action === "keys" ? actions : granted).includes(action);
}
