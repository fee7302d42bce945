/** The built-in sink, which posts signed events to a URL, and the check for receivers. */
import type { StoredFlagEvent } from "../../../model/event.ts";
import type { EventSink } from "./sink.ts";
import {
  type Bytes,
  hasSignature,
  importSecret,
  readSecret,
  type SignedWebhook,
  signWebhook,
} from "./webhook-signature.ts";

/** The options of `webhookSink`. */
export type WebhookSinkOptions = {
  /** Must be `https:`, except for localhost or with `allowInsecure`. */
  url: string;
  /** At least 24 random bytes, as text or as `whsec_` and base64. With several, for rotation, all of them sign. */
  secret: string | readonly string[];
  /** Default `webhook`. */
  name?: string | undefined;
  /** Sent with every request, for example for a gateway. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Timeout of a request. Default 10,000, at most 60,000. */
  timeoutMs?: number | undefined;
  /** Allows `http:` to other hosts. The network can then read the events. Default `false`. */
  allowInsecure?: boolean | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
};

/** The body of a webhook. */
export type WebhookBody = {
  /** The same for every webhook of this package. */
  readonly type: "feature_flag.events";
  /** The events, in the order in which they were stored. */
  readonly data: { readonly events: readonly StoredFlagEvent[] };
};

const TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const TOLERANCE_MS = 300_000;

/**
 * A sink that posts events to a URL as JSON, `{ "type": "feature_flag.events", "data": { "events": [...] } }`, with the
 * headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks. A status from 200 to 299
 * acknowledges the events; redirects are not followed. Retries of the same events have the same id.
 *
 * ```ts
 * import { featureFlags, webhookSink } from "@halyard/flags";
 *
 * const secret = process.env["WEBHOOK_SECRET"] ?? "";
 * featureFlags({ events: { sinks: [webhookSink({ url: "https://example.com/flag-events", secret })] } });
 * ```
 */
export function webhookSink({
  url,
  secret,
  name = "webhook",
  headers = {},
  timeoutMs = TIMEOUT_MS,
  allowInsecure = false,
  fetch: send = (to, init) => fetch(to, init),
}: WebhookSinkOptions): EventSink {
  checkUrl(url, allowInsecure);
  checkTimeout(timeoutMs);
  const extraHeaders = readHeaders(headers);
  const secrets = secretsOf(secret);
  let importing: Promise<CryptoKey[]> | undefined;
  return {
    name,
    async deliver(events, { deliveryId }) {
      const content: WebhookBody = { type: "feature_flag.events", data: { events } };
      const timestamp = String(Math.floor(Date.now() / 1000));
      const webhook: SignedWebhook = { id: deliveryId, timestamp, body: JSON.stringify(content) };
      // At the first delivery, because some runtimes allow cryptography only during a request.
      importing ??= Promise.all(secrets.map(importSecret));
      const keys = await importing;
      const signatures = await Promise.all(keys.map((key) => signWebhook(key, webhook)));
      const response = await send(url, {
        method: "POST",
        body: webhook.body,
        headers: {
          ...extraHeaders,
          "content-type": "application/json",
          "user-agent": "halyard-flags",
          "webhook-id": webhook.id,
          "webhook-timestamp": timestamp,
          "webhook-signature": signatures.join(" "),
        },
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      // The body is not needed and may be large.
      await response.body?.cancel();
      if (!response.ok)
        throw new Error(
          `The webhook receiver answered with status ${response.status} instead of 200 to 299.`,
        );
    },
  };
}

/** The options of `verifyWebhook`. */
export type VerifyWebhookOptions = {
  /** The sender's secret, or several for rotation. */
  secret: string | readonly string[];
  /** The headers of the request. */
  headers: Headers;
  /** The raw body, before parsing. */
  body: string;
  /** Tolerated clock skew and delay. Default 300,000. */
  toleranceMs?: number | undefined;
  /** The current time in ms. Default `Date.now()`. */
  nowMs?: number | undefined;
};

/**
 * Verifies a received webhook and returns its id and events. Returns undefined if the signature, the time or the body is
 * invalid; answer with 401. Skip an id that was handled before.
 *
 * ```ts
 * import { verifyWebhook } from "@halyard/flags";
 *
 * export async function POST(request: Request): Promise<Response> {
 *   const secret = process.env["WEBHOOK_SECRET"] ?? "";
 *   const verified = await verifyWebhook({ secret, headers: request.headers, body: await request.text() });
 *   if (verified === undefined) return new Response(null, { status: 401 });
 *   for (const event of verified.events) console.log(verified.id, event.id, event.flagKey, event.event);
 *   return new Response(null, { status: 204 });
 * }
 * ```
 */
export async function verifyWebhook({
  secret,
  headers,
  body,
  toleranceMs = TOLERANCE_MS,
  nowMs = Date.now(),
}: VerifyWebhookOptions): Promise<
  { readonly id: string; readonly events: readonly StoredFlagEvent[] } | undefined
> {
  const keys = await Promise.all(secretsOf(secret).map(importSecret));
  const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((part) =>
    headers.get(`webhook-${part}`),
  );
  if (id == null || timestamp == null || signature == null || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (Math.abs(nowMs - Number(timestamp) * 1000) > toleranceMs) return undefined;
  const webhook = { id, timestamp, body };
  const verdicts = await Promise.all(keys.map((key) => hasSignature(key, webhook, signature)));
  const events = verdicts.includes(true) ? eventsIn(body) : undefined;
  return events && { id, events };
}

function eventsIn(body: string): readonly StoredFlagEvent[] | undefined {
  try {
    const { type, data }: Partial<WebhookBody> = JSON.parse(body);
    return type === "feature_flag.events" && Array.isArray(data?.events) ? data.events : undefined;
  } catch {
    return undefined;
  }
}

function secretsOf(secret: string | readonly string[]): readonly Bytes[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (secrets.length === 0) throw new TypeError("The webhook has no secret. Set `secret`.");
  return secrets.map(readSecret);
}

/** Lower-case names, so that a header of the host cannot duplicate one of the webhook. */
function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    // The original error contains the value, which may be secret.
    throw new TypeError(
      "The headers of the webhook contain an invalid name or value. Check the option `headers`.",
    );
  }
}

function checkTimeout(timeoutMs: number): void {
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) return;
  throw new TypeError(
    `The webhook's timeoutMs ${timeoutMs} is out of range. Use more than 0 and at most ${MAX_TIMEOUT_MS}.`,
  );
}

function checkUrl(text: string, allowInsecure: boolean): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    throw new TypeError("The URL of the webhook is invalid. Set `url` to an absolute URL.");
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      "The URL of the webhook contains a user or a password. Send credentials with `headers`.",
    );
  }
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && (isLocal || allowInsecure))) return;
  throw new TypeError(
    "The URL of the webhook does not start with https:. Use https:, or set `allowInsecure` for http:.",
  );
}
