import { afterAll, test } from "vitest";
import { Findings } from "../fixtures/long/findings.ts";
import { seedOf } from "../fixtures/random.ts";
import { runResumeChaos } from "../fixtures/resume-chaos/run.ts";

/** Smaller sizes for a first look: `RESUME_CLIENTS=300 RESUME_ROOMS=30 RESUME_RATE=100 RESUME_FAULTS=3`. */
const CLIENTS = Number(process.env["RESUME_CLIENTS"] ?? 3_000);
const ROOMS = Number(process.env["RESUME_ROOMS"] ?? 300);
const PUBLISHES_PER_SECOND = Number(process.env["RESUME_RATE"] ?? 500);
const FAULTS = Number(process.env["RESUME_FAULTS"] ?? 10);
const MODES = ["steady", "volatile", "durable", "sentinel"] as const;

const seed = seedOf("resume");
const findings = new Findings();

test.each(MODES)(
  "clients of channels with history in a %s Redis get every message once and in order, or a gap in its place, and the members of their room",
  async (redis) => {
    const figures = await runResumeChaos({
      redis,
      seed,
      crowds: 3,
      clients: CLIENTS,
      rooms: ROOMS,
      publishesPerSecond: PUBLISHES_PER_SECOND,
      faults: FAULTS,
      faultEveryMs: 5_000,
      checksDead: true,
    });
    findings.passed(redis, figures);
  },
);

afterAll(() => {
  findings.publish("resume", MODES.length, {
    what: "Three servers have channels with history and presence over one Redis. Under load, a fifth of the connections is cut at a time; servers are killed and replaced, or replaced by drain; Redis is left alone (steady), killed without persistence (volatile), killed with `appendfsync always` (durable), or its master is killed and a replica takes over (sentinel).",
    size: `${CLIENTS} clients in three processes, ${ROOMS} channels, ${PUBLISHES_PER_SECOND} publishes a second; ${FAULTS} faults of each kind.`,
    checked:
      "What the application of every client was given, over all its connections: each message at most once and in the order of the publishes; every accepted message, or a gap in its place; no gap at all while Redis loses nothing, also when publishes are repeated with their id after a lost reply. Once all is quiet, every client lists exactly the members of its room within 5 s. 5 s after a server was killed, no client lists a member that was connected to it, unless Redis failed around that time.",
    suite: "packages/wire/test/long/resume-chaos.long.test.ts",
    seed,
  });
});
