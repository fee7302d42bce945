/** Who may come in, by token. Made up: a real server would ask its session store. */
export const users: ReadonlyMap<string, string> = new Map(
  ["ada", "bob", "cara", "dan", "eve", "fay"].map((name) => [`${name}-token`, name]),
);
