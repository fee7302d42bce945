/** Sends requests through Better Auth's fetch. Requests never reject, and values are not converted to dates. */

/**
 * Better Auth's `$fetch`. Declared structurally, because its own type imports types of server runtimes. The type of its
 * options depends on the path, so it is `never` here.
 */
export type AuthFetch = (path: string, options: never) => Promise<unknown>;

type Fetched = { readonly data: unknown; readonly error: AnsweredError | null };

/** The options of Better Auth's client that are used. */
export type AuthClientOptions = { readonly fetchOptions?: object | undefined };

/** An error as the server answered it, or the failure to get a response. */
export type ClientError = {
  /** The HTTP status, or 0 without a response. */
  readonly status: number;
  /** One of `FEATURE_FLAG_ERROR_CODES`. Absent without a response of the plugin. */
  readonly code?: string;
  /** What happened and what to change. */
  readonly message: string;
  /** The field, the limit or the version concerned. */
  readonly details?: { readonly [key: string]: unknown };
};

/** The result type of Better Auth's client. */
export type ClientResult<Data> =
  | { readonly data: Data; readonly error: null }
  | { readonly data: null; readonly error: ClientError };

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: object;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout of the request, in ms. Default: none. */
  readonly timeoutMs?: number;
  /** Lets the request finish after the page unloads. Default `false`. */
  readonly keepalive?: boolean;
  /** Called with every response. */
  readonly onResponse?: (context: { readonly response: Response }) => void;
}

export interface Transport {
  request<Data>(path: string, options?: RequestOptions): Promise<ClientResult<Data>>;
  /** Hands a POST to the browser, which sends it even after the page unloads. */
  beacon(path: string, body: object): void;
}

/** Fetch options that a beacon does not support. Without them, cookies alone authenticate the request. */
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
      const message = `No response from the server: ${error instanceof Error ? error.message : String(error)}`;
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
        // The request below reports a body that is not valid JSON.
      }
      void request(path, { body, keepalive: true });
    },
  };
}

/** Replaces Better Auth's parser, which converts strings that look like dates, even in flag values. */
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
