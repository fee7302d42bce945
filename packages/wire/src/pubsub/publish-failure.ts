/** Why a pub/sub does not accept a message. */

/**
 * Why a publish failed: the pub/sub lacks an option, too much is unconfirmed or the broker has no memory left, the broker
 * is not reachable, or the topic or message is invalid.
 */
export type PublishFailure = "UNSUPPORTED" | "BACKPRESSURE" | "DISCONNECTED" | "VALIDATION";
