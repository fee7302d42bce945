/** The contract of every platform adapter over real sockets. `test/node.test.ts`, `bun.test.ts` and `cloudflare.test.ts` run it. */
import { afterAll, describe } from "vitest";
import type { ScenarioName } from "../fixtures/scenarios.ts";
import { admissionTests } from "./adapter/admission.ts";
import { callTests } from "./adapter/calls.ts";
import { frameTests } from "./adapter/frames.ts";
import { handshakeTests } from "./adapter/handshake.ts";
import { handshakeDeadlineTests } from "./adapter/handshake-deadline.ts";
import { heartbeatTests } from "./adapter/heartbeat.ts";
import { lifecycleTests } from "./adapter/lifecycle.ts";
import { memoryTests } from "./adapter/memory.ts";
import { operationTests } from "./adapter/operations.ts";
import { disconnectAll } from "./adapter/peer.ts";
import { shutdownTests } from "./adapter/shutdown.ts";
import { streamTests } from "./adapter/streams.ts";
import { type Capabilities, type RunningServer, type Suite, shareServers } from "./adapter/suite.ts";
import { topicTests } from "./adapter/topics.ts";

const EVERYTHING: Capabilities = {
  admission: true,
  departure: true,
  serveOptions: true,
  endpoints: true,
  patience: true,
  transport: true,
  backpressure: true,
  heartbeat: true,
  shutdown: true,
};

/** Runs the suite. `lacks` names the features that the platform's adapter does not have. */
export function adapterContract(
  platform: string,
  start: (scenario: ScenarioName) => Promise<RunningServer>,
  lacks: Partial<Record<keyof Capabilities, false>> = {},
): void {
  const can = { ...EVERYTHING, ...lacks };
  describe(`the adapter for ${platform}`, () => {
    const suite: Suite = { can, start, serving: shareServers(start) };
    afterAll(disconnectAll);
    handshakeTests(suite);
    lifecycleTests(suite);
    frameTests(suite);
    callTests(suite);
    streamTests(suite);
    topicTests(suite);
    memoryTests(suite);
    if (can.admission) admissionTests(suite);
    if (can.admission) handshakeDeadlineTests(suite);
    if (can.heartbeat) heartbeatTests(suite);
    if (can.shutdown) shutdownTests(suite);
    if (can.serveOptions) operationTests(suite);
  });
}
