/** Three processes behind one port. They are started, replaced when they end, and replaced one by one on a deploy. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const PROCESSES = 3;
const REPLACE_AFTER_MS = 500;

export interface Member {
  readonly pid: number;
  readonly port: number;
}

export interface ChatCluster {
  /** The port for clients. Each connection goes to the next process in turn. */
  readonly port: number;
  readonly members: readonly Member[];
  /** Ends and replaces one process after the other, as a deploy does. */
  roll(): Promise<void>;
  stop(): Promise<void>;
}

interface Running extends Member {
  readonly process: ChildProcess;
  /** Ended on purpose: it receives no new connections and is not replaced. */
  isLeaving: boolean;
}

export async function startCluster(port: number, env: NodeJS.ProcessEnv = {}): Promise<ChatCluster> {
  const members: Running[] = [];
  let isStopping = false;
  const join = async (): Promise<void> => {
    const member = await startProcess(env);
    members.push(member);
    member.process.once("exit", () => {
      members.splice(members.indexOf(member), 1);
      if (!member.isLeaving && !isStopping) setTimeout(() => void join(), REPLACE_AFTER_MS);
    });
  };
  const leave = async (member: Running): Promise<void> => {
    member.isLeaving = true;
    const ended = once(member.process, "exit");
    member.process.kill("SIGTERM");
    await ended;
  };
  await Promise.all(Array.from({ length: PROCESSES }, join));
  const balancer = await startBalancer(port, () => members.filter(({ isLeaving }) => !isLeaving));
  return {
    port: (balancer.address() as AddressInfo).port,
    members,
    async roll() {
      for (const member of [...members]) {
        // The new process starts first, so that there are never fewer than before.
        await join();
        await leave(member);
      }
    },
    async stop() {
      isStopping = true;
      balancer.close();
      await Promise.all([...members].map(leave));
    },
  };
}

async function startProcess(env: NodeJS.ProcessEnv): Promise<Running> {
  const server = new URL("server.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--conditions=@halyard/source", server], {
    env: { ...process.env, ...env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  if (child.stdout === null) throw new Error("A process of the chat has no output.");
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("{")) continue;
    const { port } = JSON.parse(line) as { port: number };
    // Its further output is discarded.
    child.stdout.resume();
    return { pid: child.pid ?? 0, port, process: child, isLeaving: false };
  }
  throw new Error(
    "A process of the chat ended before it was ready. Check that Redis runs: npm run services -- up redis",
  );
}

/** Hands each connection to the next process and skips one that does not respond. No sticky sessions are needed. */
async function startBalancer(port: number, targets: () => readonly Member[]): Promise<Server> {
  let turn = 0;
  const handOver = async (near: Socket): Promise<void> => {
    near.on("error", () => near.destroy());
    for (let attempts = 0; attempts < 10; attempts++) {
      const live = targets();
      const target = live[turn++ % Math.max(1, live.length)];
      if (target === undefined) {
        await delay(100);
        continue;
      }
      const far = connect(target.port, "localhost");
      try {
        await once(far, "connect");
      } catch {
        continue;
      }
      far.on("error", () => near.destroy());
      far.on("close", () => near.destroy());
      near.on("close", () => far.destroy());
      near.pipe(far).pipe(near);
      return;
    }
    near.destroy();
  };
  const server = createServer((near) => void handOver(near));
  await once(server.listen(port, "localhost"), "listening");
  return server;
}
