/** The signed-in user: first from the server-rendered page, then read again after each change. */
import { useEffect, useState } from "react";
import { authClient } from "./client.ts";
import { Moved } from "./messages.ts";
import { reconnect, socket } from "./socket.ts";

export interface Organization {
  readonly id: string;
  readonly name: string;
}

export interface Viewer {
  readonly email: string;
  readonly organizations: readonly Organization[];
  /** The id of the active organization. */
  readonly active: string | undefined;
}

export interface Account {
  readonly viewer: Viewer | undefined;
  signIn(email: string, password: string): Promise<void>;
  signOut(): Promise<void>;
  enter(organizationId: string): Promise<void>;
}

/** Needs no code for flags, because their client detects a change of the user or the organization. */
export function useAccount(rendered: Viewer | undefined): Account {
  const [viewer, setViewer] = useState(rendered);
  useEffect(
    () =>
      socket.on(Moved, ({ organizationId }) => setViewer((one) => one && { ...one, active: organizationId })),
    [],
  );
  return {
    viewer,
    async signIn(email, password) {
      await authClient.signIn.email({ email, password });
      await reconnect();
      setViewer(await readViewer());
    },
    async signOut() {
      await authClient.signOut();
      await reconnect();
      setViewer(undefined);
    },
    async enter(organizationId) {
      await authClient.organization.setActive({ organizationId });
      setViewer(await readViewer());
    },
  };
}

async function readViewer(): Promise<Viewer | undefined> {
  const [session, organizations] = await Promise.all([
    authClient.getSession(),
    authClient.organization.list(),
  ]);
  if (session.data === null) return undefined;
  return {
    email: session.data.user.email,
    organizations: (organizations.data ?? []).map(({ id, name }) => ({ id, name })),
    active: session.data.session.activeOrganizationId ?? undefined,
  };
}
