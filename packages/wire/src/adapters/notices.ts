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
