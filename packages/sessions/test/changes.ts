/** Every way a session can change in Better Auth, with what a connection of that session must see. */
import type { Host, Person, Store } from "./host.ts";

/** `ended`, or the parts of the caller that change. An empty list: nothing happens to the session that is followed. */
export type Effect = "ended" | readonly string[];

/**
 * How this process learns of it: Better Auth writes through its adapter (`write`) or through secondary storage (`storage`),
 * which are wrapped; nothing is written, and the time decides (`clock`); or the change is made past Better Auth, and the
 * comparison with the session store finds it (`comparison`).
 */
export type Source = "write" | "clock" | "comparison";

export interface Scene {
  readonly host: Host;
  readonly store: Store;
  /** The user whose session is followed. */
  readonly ann: Person;
  readonly root: Person;
  /** The owner of the organization, in which ann is a member. */
  readonly owner: Person;
  readonly organizationId: string;
  readonly memberId: string;
}

export interface ChangeRow {
  readonly name: string;
  readonly endpoints: readonly string[];
  readonly source: Source;
  readonly effect: Effect;
  /** Whether ann's session has the organization active before the change. Default false. */
  readonly isActive?: boolean;
  /** Runs before the session is followed. */
  prepare?(scene: Scene): Promise<unknown>;
  run(scene: Scene): Promise<unknown>;
}

export const CHANGES: readonly ChangeRow[] = [
  {
    name: "signing out",
    endpoints: ["/sign-out"],
    source: "write",
    effect: "ended",
    run: ({ host, ann }) => host.call("/sign-out", { as: ann }),
  },
  {
    name: "revoking the session from another device",
    endpoints: ["/revoke-session"],
    source: "write",
    effect: "ended",
    run: async ({ host, ann }) =>
      host.call("/revoke-session", { as: await host.again(ann), body: { token: ann.token } }),
  },
  {
    name: "revoking all other sessions from another device",
    endpoints: ["/revoke-other-sessions"],
    source: "write",
    effect: "ended",
    run: async ({ host, ann }) => host.call("/revoke-other-sessions", { as: await host.again(ann) }),
  },
  {
    name: "revoking all sessions",
    endpoints: ["/revoke-sessions"],
    source: "write",
    effect: "ended",
    run: async ({ host, ann }) => host.call("/revoke-sessions", { as: await host.again(ann) }),
  },
  {
    name: "a password change that revokes other sessions",
    endpoints: ["/change-password"],
    source: "write",
    effect: "ended",
    run: async ({ host, ann }) =>
      host.call("/change-password", {
        as: await host.again(ann),
        body: {
          currentPassword: host.password,
          newPassword: "another horse battery",
          revokeOtherSessions: true,
        },
      }),
  },
  {
    name: "banning the user",
    endpoints: ["/admin/ban-user"],
    source: "write",
    effect: "ended",
    run: ({ host, root, ann }) => host.call("/admin/ban-user", { as: root, body: { userId: ann.id } }),
  },
  {
    name: "ending the ban of a user",
    endpoints: ["/admin/unban-user"],
    source: "write",
    effect: [],
    run: ({ host, root, ann }) => host.call("/admin/unban-user", { as: root, body: { userId: ann.id } }),
  },
  {
    name: "revoking one session as an admin",
    endpoints: ["/admin/revoke-user-session"],
    source: "write",
    effect: "ended",
    run: ({ host, root, ann }) =>
      host.call("/admin/revoke-user-session", { as: root, body: { sessionToken: ann.token } }),
  },
  {
    name: "revoking all sessions of the user as an admin",
    endpoints: ["/admin/revoke-user-sessions"],
    source: "write",
    effect: "ended",
    run: ({ host, root, ann }) =>
      host.call("/admin/revoke-user-sessions", { as: root, body: { userId: ann.id } }),
  },
  {
    name: "removing the user as an admin",
    endpoints: ["/admin/remove-user"],
    source: "write",
    effect: "ended",
    run: ({ host, root, ann }) => host.call("/admin/remove-user", { as: root, body: { userId: ann.id } }),
  },
  {
    name: "deleting the own user",
    endpoints: ["/delete-user"],
    source: "write",
    effect: "ended",
    run: ({ host, ann }) => host.call("/delete-user", { as: ann, body: { password: host.password } }),
  },
  {
    name: "an admin who starts and stops to act as the user",
    endpoints: ["/admin/impersonate-user", "/admin/stop-impersonating"],
    source: "write",
    effect: [],
    run: async ({ host, root, ann }) => {
      const acting = await host.call("/admin/impersonate-user", { as: root, body: { userId: ann.id } });
      await host.call("/admin/stop-impersonating", { as: { cookie: acting.cookie } });
    },
  },
  {
    name: "updating the user",
    endpoints: ["/update-user"],
    source: "write",
    effect: ["user"],
    run: ({ host, ann }) => host.call("/update-user", { as: ann, body: { name: "Ann the second" } }),
  },
  {
    name: "updating the user as an admin",
    endpoints: ["/admin/update-user"],
    source: "write",
    effect: ["user"],
    run: ({ host, root, ann }) =>
      host.call("/admin/update-user", {
        as: root,
        body: { userId: ann.id, data: { name: "Ann the third" } },
      }),
  },
  {
    name: "changing the email address",
    endpoints: ["/change-email"],
    source: "write",
    effect: ["user"],
    run: ({ host, ann }) => host.call("/change-email", { as: ann, body: { newEmail: `new-${ann.email}` } }),
  },
  {
    name: "a new role of the user",
    endpoints: ["/admin/set-role"],
    source: "write",
    effect: ["role"],
    run: ({ host, root, ann }) =>
      host.call("/admin/set-role", { as: root, body: { userId: ann.id, role: "admin" } }),
  },
  {
    name: "switching the organization",
    endpoints: ["/organization/set-active"],
    source: "write",
    effect: ["organizationId", "organizationRole"],
    run: ({ host, ann, organizationId }) =>
      host.call("/organization/set-active", { as: ann, body: { organizationId } }),
  },
  {
    name: "creating an organization, which becomes the active one",
    endpoints: ["/organization/create"],
    source: "write",
    // Its first team becomes active too, which is another field of the session.
    effect: ["organizationId", "organizationRole", "session"],
    run: ({ host, ann }) =>
      host.call("/organization/create", { as: ann, body: { name: "Own", slug: `own-${ann.id}` } }),
  },
  {
    name: "adding the user to the active organization",
    endpoints: ["/organization/add-member"],
    source: "write",
    effect: ["organizationId", "organizationRole"],
    isActive: true,
    // A session keeps its active organization when the user is removed from it.
    prepare: ({ host, owner, organizationId, memberId }) =>
      host.call("/organization/remove-member", {
        as: owner,
        body: { memberIdOrEmail: memberId, organizationId },
      }),
    run: ({ host, ann, organizationId }) =>
      host.auth.api.addMember({ body: { userId: ann.id, organizationId, role: "admin" } }),
  },
  {
    name: "removing the member from the organization",
    endpoints: ["/organization/remove-member"],
    source: "write",
    effect: ["organizationId", "organizationRole"],
    isActive: true,
    run: ({ host, owner, memberId, organizationId }) =>
      host.call("/organization/remove-member", {
        as: owner,
        body: { memberIdOrEmail: memberId, organizationId },
      }),
  },
  {
    name: "leaving the organization",
    endpoints: ["/organization/leave"],
    source: "write",
    effect: ["organizationId", "organizationRole"],
    isActive: true,
    run: ({ host, ann, organizationId }) =>
      host.call("/organization/leave", { as: ann, body: { organizationId } }),
  },
  {
    name: "a new role in the organization",
    endpoints: ["/organization/update-member-role"],
    source: "write",
    effect: ["organizationRole"],
    isActive: true,
    run: ({ host, owner, memberId, organizationId }) =>
      host.call("/organization/update-member-role", {
        as: owner,
        body: { memberId, organizationId, role: "admin" },
      }),
  },
  {
    name: "deleting the organization",
    endpoints: ["/organization/delete"],
    source: "write",
    effect: ["organizationId", "organizationRole"],
    isActive: true,
    run: ({ host, owner, organizationId }) =>
      host.call("/organization/delete", { as: owner, body: { organizationId } }),
  },
  {
    name: "revoking one of several sessions of a device",
    endpoints: ["/multi-session/revoke"],
    source: "write",
    effect: "ended",
    run: ({ host, ann }) =>
      host.call("/multi-session/revoke", { as: ann, body: { sessionToken: ann.token } }),
  },
  {
    name: "a change of another user",
    endpoints: ["/update-user"],
    source: "write",
    effect: [],
    run: ({ host, owner }) => host.call("/update-user", { as: owner, body: { name: "Somebody else" } }),
  },
];
