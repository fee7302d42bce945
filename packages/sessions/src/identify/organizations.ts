/** Organizations and their members, as Better Auth's organization plugin stores them. The plugin is optional. */
import { type IdentityError, unavailable } from "./errors.ts";
import type { HostContext } from "./request.ts";

/** A user's membership in one organization. */
export interface Membership {
  /** Of the member's row; undefined where the host's rows have none. */
  readonly id: string | undefined;
  readonly role: string;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** What a text column of every supported database holds, in characters. */
export const MAX_ID_LENGTH = 255;
/** PostgreSQL refuses NUL, and half a surrogate pair is not UTF-8. */
const WELL_FORMED = /^[^\0\p{Surrogate}]*$/u;

/** Undefined when the user is not a member of the organization. */
export async function readMembership(
  context: HostContext,
  userId: string,
  organizationId: string,
): Promise<Membership | undefined> {
  const where = [
    { field: "userId", value: userId },
    { field: "organizationId", value: organizationId },
  ];
  const member = await asUnavailable(() =>
    context.adapter.findOne<{ id?: unknown; role?: unknown }>({ model: "member", where }),
  );
  if (typeof member?.role !== "string") return undefined;
  return { id: typeof member.id === "string" ? member.id : undefined, role: member.role };
}

export async function organizationExists(context: HostContext, organizationId: string): Promise<boolean> {
  if (!mayExist(context, organizationId)) return false;
  const where = [{ field: "id", value: organizationId }];
  return (await asUnavailable(() => context.adapter.findOne({ model: "organization", where }))) !== null;
}

export function mayExist(context: HostContext, organizationId: string): boolean {
  return hasOrganizations(context) && isPossibleId(context, organizationId);
}

/** Whether the host has the organization plugin. */
export function hasOrganizations({ options }: HostContext): boolean {
  return options.plugins?.some(({ id }) => id === "organization") === true;
}

/** Some databases fail on an id of another form than their own, so it is not looked up. */
export function isPossibleId({ options }: HostContext, id: string): boolean {
  const form = options.advanced?.database?.generateId;
  if (form === "serial") return /^\d{1,15}$/.test(id);
  if (form === "uuid") return UUID.test(id);
  return id.length <= MAX_ID_LENGTH && WELL_FORMED.test(id);
}

/** A failing database must not look like a user without organizations. */
export function organizationsUnavailable(cause: unknown): IdentityError {
  return unavailable("The caller's organizations could not be read. Try again.", cause);
}

async function asUnavailable<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query();
  } catch (error) {
    throw organizationsUnavailable(error);
  }
}
