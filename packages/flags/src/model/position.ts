/** The revisions that an evaluation read, so that a client never goes back to older flags. */

/** One revision per layer. Revisions of an organization are comparable only with the same organization. */
export type FlagsPosition = {
  /** The revision of the global flags. */
  readonly global: number;
  readonly organizationId?: string | undefined;
  /** The revision of the organization's flags. */
  readonly organization?: number | undefined;
};

/** Before any response. */
export const NO_POSITION: FlagsPosition = { global: 0 };

/** Undefined for anything else: pages and proxies may supply any JSON. */
export function readPosition(given: unknown): FlagsPosition | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { global, organizationId, organization = 0 } = given as Record<keyof FlagsPosition, unknown>;
  if (!isRevision(global)) return undefined;
  if (typeof organizationId !== "string" || !isRevision(organization)) return { global };
  return { global, organizationId, organization };
}

/** Whether one layer that both positions have is older in the first. */
export function isOlder(position: FlagsPosition, than: FlagsPosition): boolean {
  return position.global < than.global || organizationRevision(than, position) > (position.organization ?? 0);
}

/** The newest revision of each layer of `position`. */
export function newest(position: FlagsPosition, seen: FlagsPosition): FlagsPosition {
  const global = Math.max(position.global, seen.global);
  const { organizationId, organization = 0 } = position;
  if (organizationId === undefined) return { global };
  const revision = Math.max(organization, organizationRevision(seen, position));
  return { global, organizationId, organization: revision };
}

/** The revision that `seen` has for the organization of the other position, or 0. */
function organizationRevision(seen: FlagsPosition, { organizationId }: FlagsPosition): number {
  return organizationId !== undefined && seen.organizationId === organizationId
    ? (seen.organization ?? 0)
    : 0;
}

function isRevision(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
