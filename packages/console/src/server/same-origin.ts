/** Whether a request comes from the console's own page. */

const CONSOLE_HEADER = "x-halyard-console";

/** Why a request to the API is refused; undefined if it is not. `trusted` is the origin of Better Auth's `baseURL`. */
export function crossOriginProblem(
  request: Request,
  trusted: string | undefined,
): "MISSING_CONSOLE_HEADER" | "CROSS_ORIGIN_REQUEST" | undefined {
  const { headers, url } = request;
  // A page of another origin can send this header only after a preflight, which the console does not answer.
  if (headers.get(CONSOLE_HEADER) !== "1") return "MISSING_CONSOLE_HEADER";
  // Browsers set both headers themselves. Old ones have only the second.
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return "CROSS_ORIGIN_REQUEST";
  const origin = headers.get("origin");
  if (origin === null || origin === new URL(url).origin || origin === trusted) return undefined;
  return "CROSS_ORIGIN_REQUEST";
}
