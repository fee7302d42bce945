import { afterEach, expect, test, vi } from "vitest";
import { type AllowedOrigins, isAllowedOrigin } from "./origin.ts";

afterEach(() => vi.unstubAllEnvs());

function isAllowed(headers: Readonly<Record<string, string>>, allowed?: AllowedOrigins): boolean {
  const url = new URL("http://chat.example/");
  const upgrade = { url, header: (name: string) => headers[name] ?? null, request: () => new Request(url) };
  return isAllowedOrigin(upgrade, allowed, () => undefined);
}

const LOCAL = [
  { origin: "http://localhost:5173", host: "localhost:3000" },
  { origin: "http://localhost:5173", host: "127.0.0.1:3000" },
  { origin: "http://127.0.0.1:5173", host: "localhost:3000" },
  { origin: "http://[::1]:5173", host: "localhost:3000" },
  { origin: "https://localhost", host: "[::1]:3000" },
  { origin: "http://localhost", host: "LOCALHOST:3000" },
];

test.each(["development", "test", "", undefined])(
  "a page of this machine is admitted from any port when NODE_ENV is %s, with allowedOrigins and without",
  (env) => {
    vi.stubEnv("NODE_ENV", env);
    for (const headers of LOCAL)
      for (const allowed of [undefined, ["https://app.example"], () => false])
        expect(isAllowed({ ...headers, cookie: "session=1" }, allowed)).toBe(true);
  },
);

test("a page of this machine is refused from another port in production, unless the origin is listed", () => {
  vi.stubEnv("NODE_ENV", "production");
  for (const headers of LOCAL) {
    expect(isAllowed(headers)).toBe(false);
    expect(isAllowed(headers, [headers.origin])).toBe(true);
  }
  const own = { origin: "http://localhost:3000", host: "localhost:3000" };
  expect(isAllowed(own)).toBe(true);
});

test.each([
  "Forwarded",
  "True-Client-IP",
  "Via",
  "X-Forwarded-For",
  "X-Forwarded-Host",
  "X-Forwarded-Port",
  "X-Forwarded-Proto",
  "X-Forwarded-Server",
  "X-Forwarded-Ssl",
  "X-Real-IP",
])("a page of this machine is refused from another port when a proxy sent %s", (name) => {
  vi.stubEnv("NODE_ENV", "development");
  for (const headers of LOCAL) expect(isAllowed({ ...headers, [name.toLowerCase()]: "" })).toBe(false);
});

test.each([
  { origin: "http://evil.example", host: "localhost:3000" },
  { origin: "http://localhost.evil.example:5173", host: "localhost:3000" },
  { origin: "http://evil-localhost:5173", host: "localhost:3000" },
  { origin: "http://app.localhost:5173", host: "localhost:3000" },
  { origin: "http://localhost.:5173", host: "localhost:3000" },
  { origin: "http://127.0.0.1.evil.example", host: "localhost:3000" },
  { origin: "http://127.0.0.2:5173", host: "localhost:3000" },
  { origin: "http://0.0.0.0:5173", host: "localhost:3000" },
  { origin: "http://192.168.0.5:5173", host: "localhost:3000" },
  { origin: "http://[::]:5173", host: "localhost:3000" },
  { origin: "http://[::ffff:127.0.0.1]:5173", host: "localhost:3000" },
  { origin: "http://localhost:5173/", host: "localhost:3000" },
  { origin: "http://evil.example@localhost:5173", host: "localhost:3000" },
  { origin: "http://localhost:5173, http://evil.example", host: "localhost:3000" },
  { origin: "http://2130706433:5173", host: "localhost:3000" },
  { origin: "file://localhost", host: "localhost:3000" },
  { origin: "capacitor://localhost", host: "localhost:3000" },
  { origin: "null", host: "localhost:3000" },
  { origin: "http://localhost:5173", host: "app.example.com" },
  { origin: "http://localhost:5173", host: "192.168.0.5:3000" },
  { origin: "http://localhost:5173", host: "localhost.evil.example:3000" },
  { origin: "http://localhost:5173", host: "0.0.0.0:3000" },
])("the origin $origin with the host $host is not a page of this machine", (headers) => {
  vi.stubEnv("NODE_ENV", "development");
  expect(isAllowed(headers)).toBe(false);
});
