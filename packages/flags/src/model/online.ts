/** Who is online now, as the application knows it. */

/** Gives those of the users that are online now. */
export type OnlineSource = (userIds: readonly string[]) => Iterable<string> | Promise<Iterable<string>>;
