/** The key that is offered for a name: lower case, words joined by dashes. */
const MOST_CHARACTERS = 128;

export function keyOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, MOST_CHARACTERS)
    .replace(/-+$/, "");
}
