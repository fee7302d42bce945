// The real servers that tests and examples use. This list of names is the whole interface.
export { bunPath } from "./bun.ts";
export { type ServerName, serviceUrl } from "./catalogue.ts";
export { chromiumPath, launchChromium } from "./chromium.ts";
export { type PrivateCluster, startNatsCluster, startRedisCluster } from "./cluster.ts";
export { createMariadbDatabase } from "./mariadb.ts";
export { createNatsPrefix } from "./nats.ts";
export { createNetworkNamespace, type NetworkNamespace, networkNamespaceRefusal } from "./netns.ts";
export { freePort } from "./ports.ts";
export { createPostgresDatabase, otherPostgresVersions } from "./postgres.ts";
export {
  type PrivateServer,
  startMariadb,
  startNats,
  startPostgres,
  startRedis,
} from "./private-server.ts";
export { type Program, type ProgramOptions, spawnProgram } from "./program.ts";
export { createRedisPrefix } from "./redis.ts";
export { type PrivateSentinels, startRedisSentinels } from "./sentinel.ts";
export { ServiceError } from "./server.ts";
export { isFullSize, sized } from "./size.ts";
export type { TestDatabase, TestPrefix } from "./test-database.ts";
