// Opens pools of PostgreSQL connections for tests, benches and tools.
import { Pool, type PoolConfig } from "pg";

/**
 * A broken connection is an error of its next query and of nothing else. Without the listeners, a connection that ends
 * while its database is dropped ends the process, whichever test runs then.
 */
export function openPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  pool.on("error", () => {});
  // The pool listens to its idle connections only.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
