/** What a server says once at its start. */

let saidHeartbeatIsOff = false;

/** `otherwise`: how a dead peer is found without a heartbeat. */
export function sayHeartbeatIsOff(otherwise: string): void {
  if (saidHeartbeatIsOff) return;
  saidHeartbeatIsOff = true;
  console.info(
    `[halyard] The heartbeat is off: dead peers are found ${otherwise}. Set the router option \`heartbeat\` to find them sooner.`,
  );
}
