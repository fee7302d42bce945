/** Entry point `@halyard/base/redis`: a bus over publish and subscribe, and a runner of scripts. */

export { type RedisClient, redisBus } from "./redis-bus.ts";
export {
  type BunRedisScripts,
  type IoredisScripts,
  type NodeRedisScripts,
  runScript,
  type ScriptCall,
  type ScriptRunner,
  type SendScript,
  scriptRunner,
} from "./redis-script.ts";
