/** `npm start`: the cluster, until Ctrl+C. SIGHUP rolls it. */
import { startCluster } from "./cluster.ts";

const cluster = await startCluster(Number(process.env["PORT"] ?? 3000));
const show = (): void =>
  console.log(`  processes: ${cluster.members.map(({ pid, port }) => `${pid} on ${port}`).join(", ")}`);
console.log(`The chat is open on ws://localhost:${cluster.port}. Stop it with Ctrl+C.`);
show();
console.log(`  roll them with: kill -HUP ${process.pid}`);

async function roll(): Promise<void> {
  await cluster.roll();
  console.log("Every process was replaced.");
  show();
}
process.on("SIGHUP", () => void roll());
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void cluster.stop());
