/** A session's name between processes, from which its token cannot be restored. */

/**
 * 64 of the some 190 random bits of a token. Two sessions with the same print cause a needless check, and no more.
 * Text that other processes see must not contain a credential.
 */
export function sessionPrint(token: string): string {
  let one = 0x811c9dc5;
  let other = 0x9e3779b9;
  for (let at = 0; at < token.length; at += 1) {
    const code = token.charCodeAt(at);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x85ebca6b);
    other ^= other >>> 13;
  }
  return `${(one >>> 0).toString(36)}.${(other >>> 0).toString(36)}`;
}
