import { afterAll, describe, test } from "vitest";
import { Findings } from "../fixtures/long/findings.ts";
import { ATTACKS, runMemoryAttack } from "../fixtures/long/memory-attack.ts";
import { RUNTIMES } from "../fixtures/long/runtimes.ts";

const CONNECTIONS = 500;
const MEASURE_MS = 5_000;
const MAX_FACTOR = 2;

const findings = new Findings();

describe.each(RUNTIMES)("memory attacks on $name", (runtime) => {
  test.each(ATTACKS)(
    `by ${CONNECTIONS} connections with %s keep at most 2 MB each and do not delay other peers`,
    async (attack) => {
      const sizes = { connections: CONNECTIONS, measureMs: MEASURE_MS, maxLatencyFactor: MAX_FACTOR };
      findings.passed(runtime.name, await runMemoryAttack(runtime, { attack, ...sizes }));
    },
  );
});

afterAll(() => {
  findings.publish("memory-attacks", RUNTIMES.length * ATTACKS.length, {
    what: "Connections that try to make the server keep memory: messages of 1,000 one-byte fragments with control frames in between; 4 MB of requests whose handlers never finish; 4 MB of messages before an `onAuth` that never decides; headers that never end; 400 topics of 256 characters. One other peer sends ordinary requests.",
    size: `${CONNECTIONS} connections of each kind, each kind on a server of its own, after 25 to warm up.`,
    checked:
      "While all attackers were connected, the server kept at most 2 MB for each of them (on Node by its heap and buffers after a collection; on Bun by its resident memory above 64 MiB of the allocator's reserve, because the engine's memory is outside of the heap). The p99 of the other peer stayed within twice that of the run before the attack, or 10 ms. After the attack the heap returned to its earlier level. Bun's engine does not limit the number of fragments or the time of an unfinished message; it keeps at most `maxPayloadBytes` of it.",
    suite: "packages/wire/test/long/memory-attacks.long.test.ts",
  });
});
