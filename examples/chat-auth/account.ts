/** What a browser does with the session: signs in over HTTP, keeps the cookie, and sends it with the WebSocket. */
import { wsClient } from "@halyard/wire/client";
import { WebSocket } from "ws";

export interface Account {
  readonly client: ReturnType<typeof wsClient>;
  /** Calls an endpoint of Better Auth. */
  call(path: string, body?: object): Promise<Record<string, unknown>>;
}

export function openAccount(url: string): Account {
  let cookie = "";
  const client = wsClient({
    url: `${url.replace("http", "ws")}/ws`,
    wsFactory: (address, protocols) =>
      new WebSocket(address, protocols, { headers: { cookie }, origin: url }),
  });
  return {
    client,
    async call(path, body = {}) {
      const response = await fetch(`${url}/api/auth${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url, cookie },
        body: JSON.stringify(body),
      });
      const pairs = response.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
      if (pairs.length > 0) cookie = pairs.filter((pair) => !pair.endsWith("=")).join("; ");
      const text = await response.text();
      if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
      return text === "" ? {} : JSON.parse(text);
    },
  };
}
