/** The way to the server: Better Auth's own fetch, with answers that never throw and values that nobody revives. */

/**
 * Better Auth's `$fetch`. Structural, because its own type brings in those of server runtimes; what its options are
 * depends on the path, so none of ours is known to be one.
 */
export type AuthFetch = (path: string, options: never) => Promise<unknown>;

type Fetched = { readonly data: unknown; readonly error: AnsweredError | null };

/** What is used of the options of Better Auth's client. */
export type AuthClientOptions = { readonly fetchOptions?: object | undefined };

export type ClientError = {
  /** 0: no answer came. */
  readonly status: number;
  readonly code?: string;
  readonly message: string;
  readonly details?: { readonly [key: string]: unknown };
};

/** As Better Auth's own client answers. */
export type ClientResult<Data> =
  | { readonly data: Data; readonly error: null }
  | { readonly data: null; readonly error: ClientError };

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: object;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Gives up after this time. */
  readonly timeoutMs?: number;
  /** Goes on when the page is left. */
  readonly keepalive?: boolean;
}

export interface Transport {
  request<Data>(path: string, options?: RequestOptions): Promise<ClientResult<Data>>;
  /** Hands a POST over to the browser, which sends it even when the page is gone by then. */
  beacon(path: string, body: object): void;
}

/** Headers and schemes that a beacon cannot carry; with none of them, cookies say who is asking. */
const NOT_FOR_BEACONS = ["auth", "headers", "customFetchImpl", "credentials", "onRequest", "plugins"];

export function createTransport($fetch: AuthFetch, options: AuthClientOptions | undefined): Transport {
  const { fetchOptions = {} } = options ?? {};
  const hasBeacons =
    typeof navigator !== "undefined" &&
    typeof navigator.sendBeacon === "function" &&
    NOT_FOR_BEACONS.every((name) => !(name in fetchOptions));
  let baseUrl: string | undefined;

  async function request<Data>(path: string, options: RequestOptions = {}): Promise<ClientResult<Data>> {
    const { method = "POST", timeoutMs, ...rest } = options;
    try {
      const fetchOptions = {
        ...rest,
        method,
        throw: false,
        jsonParser: parseJson,
        ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
        onRequest: ({ url }: { url: URL | string }) => {
          baseUrl = String(url).split(path, 1)[0];
        },
      };
      const { data, error } = (await $fetch(path, fetchOptions as never)) as Fetched;
      return error ? { data: null, error: readError(error) } : { data: data as Data, error: null };
    } catch (error) {
      const message = `No answer from the server: ${error instanceof Error ? error.message : String(error)}`;
      return { data: null, error: { status: 0, message } };
    }
  }

  return {
    request,
    beacon(path, body) {
      try {
        const json = new Blob([JSON.stringify(body)], { type: "application/json" });
        if (hasBeacons && baseUrl !== undefined && navigator.sendBeacon(baseUrl + path, json)) return;
      } catch {
        // What is no JSON, the request below refuses as it does every other time.
      }
      void request(path, { body, keepalive: true });
    },
  };
}

/** Not Better Auth's own parser, which turns every text that looks like a date into one, inside values, too. */
function parseJson(text: string): unknown {
  return text === "" ? null : JSON.parse(text);
}

type AnsweredError = { status: number; statusText?: string } & Partial<ClientError>;

function readError({ status, statusText, code, message, details }: AnsweredError): ClientError {
  return {
    status,
    ...(code !== undefined && { code }),
    message: message ?? statusText ?? "",
    ...(details !== undefined && { details }),
  };
}
