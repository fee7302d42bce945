// A network of its own for some programs, behind a link to this machine that can be cut without anybody being told.
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
  /** Where programs inside reach this machine, if they listen on every address. */
  readonly hostAddress: string;
  /** Where this machine reaches the programs inside. */
  readonly address: string;
  /** The link's name on this machine. */
  readonly link: string;
  /** The command line that runs a program inside, as the same process. */
  inside(command: string, args?: readonly string[]): { command: string; args: readonly string[] };
  /** From now on every packet is lost, both ways: no acknowledgement, no end and no error arrives. */
  cut(): Promise<void>;
  /** Packets pass again; what TCP still repeats arrives late. */
  mend(): Promise<void>;
  /** Ends the link; programs inside are for the caller to stop. */
  remove(): Promise<void>;
}

/** Each takes four addresses of 198.18.0.0/15, which is set aside for tests of networks. */
const LINKS = 32_768;
const ATTEMPTS = 20;
const INNER_LINK = "eth0";
/** Of nobody: whoever gets a packet for it throws it away, and no kernel knows that the link is no good. */
const NOBODY = "02:00:00:00:00:00";
const REMEDY =
  "Remedy: run as root on Linux with iproute2, in a container with --cap-add NET_ADMIN --cap-add SYS_ADMIN.";

/** Why this machine cannot make one, with the remedy; undefined when it can. Installs iproute2 where that is possible. */
export async function networkNamespaceRefusal(): Promise<string | undefined> {
  const reason = await obstacle();
  return reason === undefined ? undefined : `No network namespace can be made: ${reason}. ${REMEDY}`;
}

async function obstacle(): Promise<string | undefined> {
  if (process.platform !== "linux") return `this is ${process.platform}`;
  if (!isRoot()) return "that takes root";
  const missing = ["unshare", "nsenter"].find((name) => findProgram(name) === undefined);
  if (missing !== undefined) return `${missing} (util-linux) is not installed`;
  if (findProgram("ip") === undefined) {
    if (!mayProvide(process.env)) return "ip (iproute2) is not installed";
    const refusal = await exclusively(process.env, () => installPackages(["iproute2"]));
    if (refusal !== undefined) return `ip (iproute2) is not installed: ${refusal}`;
  }
  try {
    // Both ends in a namespace that is gone again at once.
    const makePair = [programPath("ip"), "link", "add", "outer", "type", "veth", "peer", "name", "inner"];
    await run({ command: programPath("unshare"), args: ["--net", ...makePair] });
    return undefined;
  } catch (error) {
    return reasonOf(error).replaceAll("\n", " ");
  }
}

/**
 * Makes a network for programs that shall lose their connection to this machine.
 *
 * It disappears with this process, even when that is killed.
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

/** A namespace without a name lives as long as a process in it: nothing is left behind. */
async function holdNamespace(): Promise<Child> {
  const holder = await spawnChild(
    { command: programPath("unshare"), args: ["--net", "sleep", "infinity"] },
    "ignore",
  );
  const entered = async () => {
    if (readlinkSync(`/proc/${holder.pid}/ns/net`) === readlinkSync("/proc/self/ns/net"))
      throw new Error("it is still in ours");
  };
  await waitFor(entered, {
    what: "a process to enter a network namespace of its own",
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

/** Gives the number of a link that nobody on this machine had: its name decides, and with it the addresses. */
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
  throw new ServiceError(`No link to a network namespace could be made: ${reasonOf(cause)}\n${REMEDY}`, {
    cause,
  });
}

function nameOf(number: number): string {
  return `halyard${number}`;
}

function addressOf(offset: number): string {
  return `198.${18 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`;
}
