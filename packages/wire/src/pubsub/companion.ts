/** Topics that go with another one: in a cluster, a companion is in the slot of its topic. */

/** Applications cannot use topics that begin with "$". */
const COMPANION = "$with/";

export function companionOf(topic: string): string {
  return `${COMPANION}${topic}`;
}

/** The topic that this one goes with; undefined when it is no companion. */
export function accompaniedBy(companion: string): string | undefined {
  return companion.startsWith(COMPANION) ? companion.slice(COMPANION.length) : undefined;
}
