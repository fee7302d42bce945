/** The cache of answers. An expired session is told once, and the screens stay as they are behind the sign-in. */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, isStatus } from "./request.ts";

const MOST_RETRIES = 2;

export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: noticeExpiry }),
    mutationCache: new MutationCache({ onError: noticeExpiry }),
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

  function noticeExpiry(error: Error): void {
    if (isStatus(error, 401)) void client.invalidateQueries({ queryKey: ["session"] });
  }
}

function isWorthRetrying(error: Error): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
}
