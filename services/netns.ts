// A separate network for some programs. Its link to this machine can be cut without either side being notified.
import { readlinkSync } from "node:fs";
import { installPackages } from "./apt.ts";
import { type Child, spawnChild } from "./child.ts";
import { findProgram, isRoot, programPath } from "./machine.ts";
import { run } from "./run.ts";
import { reasonOf, ServiceError } from "./server.ts";
import { mayProvide } from "./settings.ts";
import { exclusively } from "./state.ts";
import { waitFor } from "./wait.ts";

export interface NetworkNamespace {
  /** The address of this machine for programs inside, if the server listens on every address. */
  readonly hostAddress: string;
  /** The address of the programs inside for this machine. */
  readonly address: string;
  /** The link's name on this machine. */
  readonly link: string;
  /** The command line that runs a program inside, as the same process. */
  inside(command: string, args?: readonly string[]): { command: string; args: readonly string[] };
  /** From now on every packet is dropped in both directions: no acknowledgement, close or error arrives. */
  cut(): Promise<void>;
  /** Packets pass again. TCP retransmissions arrive late. */
  mend(): Promise<void>;
  /** Removes the link. The caller stops the programs inside. */
  remove(): Promise<void>;
}

/** Each uses four addresses of 198.18.0.0/15, which is reserved for network tests. */
const LINKS = 32_768;
const ATTEMPTS = 20;
const INNER_LINK = "eth0";
/** An unused hardware address: packets for it are dropped, and neither kernel notices that the link is broken. */
const NOBODY = "02:00:00:00:00:00";
const REMEDY =
  "Remedy: run as root on Linux with iproute2, in a container with --cap-add NET_ADMIN --cap-add SYS_ADMIN.";

/** Why this machine cannot create one, with the remedy. Undefined when it can. Installs iproute2 where possible. */
export async function networkNamespaceRefusal(): Promise<string | undefined> {
  const reason = await obstacle();
  return reason === undefined ? undefined : `A network namespace cannot be created: ${reason}. ${REMEDY}`;
}

async function obstacle(): Promise<string | undefined> {
  if (process.platform !== "linux") return `the platform is ${process.platform}`;
  if (!isRoot()) return "this process is not root";
  const missing = ["unshare", "nsenter"].find((name) => findProgram(name) === undefined);
  if (missing !== undefined) return `${missing} (util-linux) is not installed`;
  if (findProgram("ip") === undefined) {
    if (!mayProvide(process.env)) return "ip (iproute2) is not installed";
    const refusal = await exclusively(process.env, () => installPackages(["iproute2"]));
    if (refusal !== undefined) return `ip (iproute2) is not installed: ${refusal}`;
  }
  try {
    // Both ends in a namespace that is removed immediately.
    const makePair = [programPath("ip"), "link", "add", "outer", "type", "veth", "peer", "name", "inner"];
    await run({ command: programPath("unshare"), args: ["--net", ...makePair] });
    return undefined;
  } catch (error) {
    return reasonOf(error).replaceAll("\n", " ");
  }
}

/**
 * Creates a network for programs that lose their connection to this machine during a test.
 *
 * It is removed when this process ends, even by SIGKILL.
 */
export async function createNetworkNamespace(): Promise<NetworkNamespace> {
  const refusal = await networkNamespaceRefusal();
  if (refusal !== undefined) throw new ServiceError(refusal);
  const holder = await holdNamespace();
  try {
    return await linkTo(holder);
  } catch (error) {
    await holder.kill();
    throw error;
  }
}

/** A namespace without a name exists as long as a process in it, so nothing is left behind. */
async function holdNamespace(): Promise<Child> {
  const holder = await spawnChild(
    { command: programPath("unshare"), args: ["--net", "sleep", "infinity"] },
    "ignore",
  );
  const entered = async () => {
    if (readlinkSync(`/proc/${holder.pid}/ns/net`) === readlinkSync("/proc/self/ns/net"))
      throw new Error("the process is still in this namespace");
  };
  await waitFor(entered, {
    what: "a process to enter its own network namespace",
    timeoutMs: 5_000,
    hopeless: () => (holder.running ? undefined : "it ended"),
  });
  return holder;
}

async function linkTo(holder: Child): Promise<NetworkNamespace> {
  const inside: NetworkNamespace["inside"] = (command, args = []) => ({
    command: programPath("nsenter"),
    args: [`--net=/proc/${holder.pid}/ns/net`, "--", command, ...args],
  });
  const outer = (...args: string[]) => run({ command: programPath("ip"), args });
  const inner = (...args: string[]) => run(inside(programPath("ip"), args));

  const number = await makePair(holder.pid);
  const link = nameOf(number);
  const [hostAddress, address] = [addressOf(4 * number + 1), addressOf(4 * number + 2)];
  await outer("address", "add", `${hostAddress}/30`, "dev", link);
  await outer("link", "set", link, "up");
  await inner("address", "add", `${address}/30`, "dev", INNER_LINK);
  await inner("link", "set", INNER_LINK, "up");
  await inner("link", "set", "lo", "up");

  return {
    hostAddress,
    address,
    link,
    inside,
    async cut() {
      await Promise.all([
        outer("neighbour", "replace", address, "lladdr", NOBODY, "dev", link, "nud", "permanent"),
        inner("neighbour", "replace", hostAddress, "lladdr", NOBODY, "dev", INNER_LINK, "nud", "permanent"),
      ]);
    },
    async mend() {
      await Promise.all([
        outer("neighbour", "delete", address, "dev", link),
        inner("neighbour", "delete", hostAddress, "dev", INNER_LINK),
      ]);
    },
    async remove() {
      if (!holder.running) return;
      await outer("link", "delete", link);
      await holder.kill();
    },
  };
}

/** Returns a link number that is unused on this machine. The number determines the name and the addresses. */
async function makePair(pid: number): Promise<number> {
  let cause: unknown;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const number = Math.floor(Math.random() * LINKS);
    const peer = ["type", "veth", "peer", "name", INNER_LINK, "netns", String(pid)];
    try {
      await run({ command: programPath("ip"), args: ["link", "add", nameOf(number), ...peer] });
      return number;
    } catch (error) {
      cause = error;
    }
  }
  throw new ServiceError(
    `A link to a network namespace could not be created: ${reasonOf(cause)}\n${REMEDY}`,
    {
      cause,
    },
  );
}

function nameOf(number: number): string {
  return `halyard${number}`;
}

function addressOf(offset: number): string {
  return `198.${18 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`;
}
