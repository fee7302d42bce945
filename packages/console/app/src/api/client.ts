/**
 * The cache of answers. After an expired session the screens stay as they are behind the sign-in. What a person may no
 * longer read is removed.
 */
import { MutationCache, type Query, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, isStatus } from "./request.ts";

const MOST_RETRIES = 2;

export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: noticeRefusal }),
    mutationCache: new MutationCache({ onError: (error) => noticeRefusal(error) }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < MOST_RETRIES && isWorthRetrying(error),
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
  return client;

  function noticeRefusal(error: Error, query?: Query<unknown, unknown, unknown>): void {
    const isForbidden = isStatus(error, 403);
    if (isForbidden || isStatus(error, 401)) void client.invalidateQueries({ queryKey: ["session"] });
    // What was permitted before is not any more, so the rest may not be either.
    if (!isForbidden || query?.state.data === undefined) return;
    query.setState({ data: undefined });
    void client.invalidateQueries();
  }
}

function isWorthRetrying(error: Error): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
}
