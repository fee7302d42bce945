import { expect, test } from "vitest";
import { checkOptionNames } from "./option-names.ts";

interface Options {
  url?: string;
  queueSize?: number;
  rpcTimeoutMs?: number;
  allowedOrigins?: string[];
  heartbeat?: { intervalMs?: number; timeoutMs?: number };
  reconnect?: { enabled?: boolean };
}

const NAMES = {
  url: true,
  queueSize: true,
  rpcTimeoutMs: true,
  allowedOrigins: true,
  heartbeat: { intervalMs: true, timeoutMs: true },
  reconnect: { enabled: true },
} as const;

function check(options: object): void {
  checkOptionNames<Options>("create()", options, NAMES);
}

test.for([
  [{ queuesize: 1 }, 'create() has no option "queuesize". Did you mean "queueSize"?'],
  [{ rpcTimeout: 1 }, 'create() has no option "rpcTimeout". Did you mean "rpcTimeoutMs"?'],
  [{ allowOrigins: [] }, 'create() has no option "allowOrigins". Did you mean "allowedOrigins"?'],
  [{ allowed: [] }, 'create() has no option "allowed". Did you mean "allowedOrigins"?'],
  [
    { heartbeat: { interval: 5 } },
    'create() has no option "heartbeat.interval". Did you mean "heartbeat.intervalMs"?',
  ],
  [
    { zzz: 1 },
    'create() has no option "zzz". Use one of url, queueSize, rpcTimeoutMs, allowedOrigins, heartbeat, reconnect.',
  ],
  [
    { heartbeat: true },
    'The option "heartbeat" of create() must be an object. Its fields are intervalMs, timeoutMs.',
  ],
  [{ reconnect: false }, 'The option "reconnect" of create() must be an object. Its fields are enabled.'],
  [
    { toString: 1 },
    'create() has no option "toString". Use one of url, queueSize, rpcTimeoutMs, allowedOrigins, heartbeat, reconnect.',
  ],
] as const)("%j is refused, with the name that was probably meant", ([options, message]) => {
  expect(() => check(options)).toThrow(new TypeError(message));
});

test("known options are accepted, and every name whose value is undefined", () => {
  check({ url: "x", queueSize: undefined, heartbeat: undefined, zzz: undefined });
  check({ heartbeat: { intervalMs: 1 } });
});

test("options that a condition left out are accepted", () => {
  const isProduction = JSON.parse("false") as boolean;
  check({ heartbeat: isProduction && { intervalMs: 1 } });
  check({ heartbeat: isProduction ? { intervalMs: 1 } : null });
});
