/** Log lines that a server writes once at its start. */
import { isDevelopment } from "../router/options.ts";

let isHeartbeatNoticeLogged = false;

/** Only in production. `detection`: how dead peers are detected without a heartbeat. */
export function logHeartbeatIsOff(detection: string): void {
  if (isHeartbeatNoticeLogged || isDevelopment()) return;
  isHeartbeatNoticeLogged = true;
  console.info(
    `[halyard] The heartbeat is off: dead peers are detected ${detection}. Set the router option \`heartbeat\` to detect them sooner.`,
  );
}

/** `version`: that of the installed `ws`. `tested`: one with which every limit holds. */
export function logMissingLimits(missing: readonly string[], version: string, tested: string): void {
  console.warn(
    `[halyard] A message that its peer does not finish has no limit of ${missing.join(", ")}: @halyard/wire does not know the receiver of ws ${version}, so only the limits of ws itself apply. Install ws ${tested}, or a newer version of @halyard/wire.`,
  );
}
