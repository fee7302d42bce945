/** Example users by token. A real server would use its session store. */
export const users: ReadonlyMap<string, string> = new Map(
  ["ada", "bob", "cara", "dan", "eve", "fay"].map((name) => [`${name}-token`, name]),
);
