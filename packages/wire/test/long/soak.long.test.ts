import { afterAll, test } from "vitest";
import { Findings } from "../fixtures/long/findings.ts";
import { runSoak } from "../fixtures/long/soak.ts";

const MINUTES = Number(process.env["HALYARD_SOAK_MINUTES"] ?? 30);
/** Shorter runs cannot tell growth from noise, and are no evidence. */
const IS_FULL = MINUTES >= 30;
const CONNECTIONS = 2_000;
const PER_SECOND = 500;
const CHURN = 0.1;
const TOPICS = 400;
const MAX_SLOPE_BYTES_PER_HOUR = 2_000_000;

const findings = new Findings();

test(
  `a soak of ${MINUTES} minutes with churn does not make memory, timers or handles grow`,
  async () => {
    const figures = await runSoak({
      ...{ connections: CONNECTIONS, topics: TOPICS, perSecond: PER_SECOND, minutes: MINUTES },
      ...{ churn: CHURN, warmUp: 1 / 3 },
      ...(IS_FULL && { maxSlopeBytesPerHour: MAX_SLOPE_BYTES_PER_HOUR }),
    });
    console.log(figures);
    if (IS_FULL) findings.passed("Node", figures);
  },
  (MINUTES + 5) * 60_000,
);

afterAll(() => {
  findings.publish("soak", 1, {
    what: "Two servers over Redis publish at a steady rate to subscribers on both, while connections are replaced one after the other.",
    size: `${CONNECTIONS} connections on ${TOPICS} topics, ${CHURN * 100} % of them replaced a minute, ${PER_SECOND} messages a second, ${MINUTES} minutes.`,
    checked:
      "From 60 samples of each server's heap and buffers after a collection: the slope of the last two thirds, by least squares, is below 2 MB an hour. When all subscribers had left, each server had no more connections, timers and other active resources than before they came. No connection was lost, and every publish was accepted.",
    suite: "packages/wire/test/long/soak.long.test.ts",
  });
});
