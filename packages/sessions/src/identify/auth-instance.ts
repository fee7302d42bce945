/** What is used of a Better Auth instance and of a request, without the types of Better Auth: its own do not allow `skipLibCheck: false`. */

/** The members of a Better Auth instance that are used. */
export interface AuthInstance {
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<object>;
  /** The methods of the instance. */
  readonly api: object;
}

/** The credentials of a request. */
export interface RequestCredentials {
  /** The headers of the request, with its cookies. */
  readonly headers: Headers;
  /** A bearer token or a one-time token that came another way. Cookies are then ignored. */
  readonly token?: string | undefined;
}
