/**
 * The revisions that an evaluation read, so that a client never goes back to older flags: `global`, or
 * `global.organization.organizationId`. Revisions of an organization are comparable only with the same organization.
 */
export type FlagsPosition = string;

/** Before any response. */
export const NO_POSITION: FlagsPosition = "0";

/** Whether a layer that both positions have is older in the first. False for anything that is not a position. */
export function isOlder(position: FlagsPosition, than: FlagsPosition): boolean {
  const [global, revision, ...id] = position.split(".");
  const [globalThan, revisionThan, ...idThan] = than.split(".");
  // Comparisons with a missing revision, which is NaN, are false.
  return (
    Number(global) < Number(globalThan) ||
    (id.join(".") === idThan.join(".") && Number(revision) < Number(revisionThan))
  );
}
