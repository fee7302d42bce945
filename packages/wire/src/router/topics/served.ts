/** Warns about a publish that no client receives, because the process has two copies of a module, or is a script. */
import type { PublishResult } from "../../pubsub/pubsub.ts";
import type { Declarations } from "../observer.ts";

/** A router, as far as copies of it can be recognized. */
interface Declaring {
  declarations(): Declarations;
}

/** A message or a channel, which a copy of its module declares again. */
type Declared = readonly { readonly type?: string; readonly pattern?: string }[];

/** What the copies of this module in one process share. */
interface Served {
  /** What servers publish with: a pub/sub, or a router that has its own. True once a client was connected. */
  readonly used: WeakMap<object, boolean>;
  /** What the routers declare whose servers run and have had a connection. */
  readonly declared: Map<object, Declared>;
  hasWarned: boolean;
}

const SERVED = Symbol.for("@halyard/wire: served");

function served(): Served {
  const shared = globalThis as { [SERVED]?: Served };
  shared[SERVED] ??= { used: new WeakMap(), declared: new Map(), hasWarned: false };
  return shared[SERVED];
}

/** A server publishes with it. */
export function noteServer(key: object): void {
  const { used } = served();
  if (!used.has(key)) used.set(key, false);
}

/** A client is connected to a server that publishes with it. */
export function noteConnection(key: object, router: Declaring): void {
  const { used, declared } = served();
  used.set(key, true);
  declared.set(key, declaredBy(router));
}

/** No server of the router runs any more. */
export function noteStop(key: object): void {
  served().declared.delete(key);
}

/** Warns once per process. */
export function checkServed(result: PublishResult, key: object, router: Declaring): void {
  if (!result.ok || result.matchedLocal !== 0) return;
  const shared = served();
  const hasConnected = shared.used.get(key);
  if (shared.hasWarned || hasConnected === true) return;
  // A server without clients is nothing unusual, unless clients are connected to a copy of its router.
  if (hasConnected === false && !hasCopy(shared, router)) return;
  shared.hasWarned = true;
  console.warn(
    "[halyard] A published message reaches no client: no client is connected to this router in this process, and its pub/sub has no broker. Either a bundler such as Next.js made a second copy of the module that creates the router: keep the router on globalThis. Or a script publishes: pass the pubsub of the servers, such as redisPubSub(), to createPublisher().",
  );
}

/** A copy has other objects with the same names. Routers that share a declaration, such as one per tenant, are no copies. */
function hasCopy({ declared }: Served, router: Declaring): boolean {
  if (declared.size === 0) return false;
  const own = declaredBy(router);
  const names = namesOf(own);
  return (
    names !== "" &&
    [...declared.values()].some(
      (other) => namesOf(other) === names && !other.some((each) => own.includes(each)),
    )
  );
}

/** In the order of registration, which is the same in copies. */
function declaredBy(router: Declaring): Declared {
  const { messages, channels } = router.declarations();
  return [...messages, ...channels];
}

function namesOf(declared: Declared): string {
  return declared.map(({ type, pattern }) => type ?? pattern).join();
}
