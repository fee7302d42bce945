/**
 * One of two processes that share a broker: `publish` publishes to all topics in turn for a number of seconds, `receive`
 * subscribes to all of them and counts. Without connections, so that only the work with the broker is measured.
 */
import { choosePubSub } from "./shared/bus.ts";
import { serveRuns } from "./shared/control.ts";

const [role, topicCount = "", broker = "", url] = process.argv.slice(2);
const TOPICS = Array.from({ length: Number(topicCount) }, (_, i) => `room:${i}`);
const FRAME = JSON.stringify({ type: "SAID", meta: { timestamp: 1 }, payload: { text: "x".repeat(100) } });
const UNDER_WAY = 8;
const GROUP = 200;

const pubsub = await choosePubSub(broker, url);

if (role === "receive") {
  let received = 0;
  // In groups, because a broker on a busy machine takes longer than the timeout to confirm ten thousand at once.
  for (let at = 0; at < TOPICS.length; at += GROUP) {
    const group = TOPICS.slice(at, at + GROUP);
    await Promise.all(group.map((topic) => pubsub.subscribe(topic, { deliver: () => ++received })));
  }
  serveRuns(async (seconds) => {
    const before = received;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    return { operations: received - before };
  });
} else {
  let next = 0;
  serveRuns(async (seconds) => {
    const before = next;
    const endAt = performance.now() + seconds * 1_000;
    const work = async (): Promise<void> => {
      while (performance.now() < endAt) {
        const result = await pubsub.publish(TOPICS[next++ % TOPICS.length] ?? "", FRAME, {});
        if (!result.ok) throw new Error(`A publish failed: ${JSON.stringify(result)}`);
      }
    };
    await Promise.all(Array.from({ length: UNDER_WAY }, work));
    return { operations: next - before };
  });
}
