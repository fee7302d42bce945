/** The sink that is built in: events are posted to a URL, signed; and how a receiver checks them. */
import type { StoredFlagEvent } from "../../model/event.ts";
import type { EventSink } from "./sink.ts";
import {
  type Bytes,
  hasSignature,
  importSecret,
  readSecret,
  type SignedWebhook,
  signWebhook,
} from "./webhook-signature.ts";

export type WebhookSinkOptions = {
  /** `https:`, unless it is this machine's own or `allowInsecure` is set. */
  url: string;
  /** At least 24 random bytes, as text or as `whsec_` and base64. Several while one replaces another: all of them sign. */
  secret: string | readonly string[];
  /** Defaults to `webhook`. */
  name?: string | undefined;
  /** Sent with every request, for a gateway that asks for them. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** How long the receiver may take to answer, at most 60,000. Defaults to 10,000. */
  timeoutMs?: number | undefined;
  /** Allows `http:` to other machines. Whoever is in between can then read the events. Defaults to `false`. */
  allowInsecure?: boolean | undefined;
  /** In place of the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
};

/** What a webhook carries. */
export type WebhookBody = {
  readonly type: "feature_flag.events";
  readonly data: { readonly events: readonly StoredFlagEvent[] };
};

const TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const TOLERANCE_MS = 300_000;

/**
 * A sink that posts events to a URL as JSON, `{ "type": "feature_flag.events", "data": { "events": [...] } }`, with the
 * headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks. Any status from 200 to 299
 * says that they have arrived; redirects are not followed. The id is the same when the same events are sent again.
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
  const own = readHeaders(headers);
  const secrets = secretsOf(secret);
  let importing: Promise<CryptoKey[]> | undefined;
  return {
    name,
    async deliver(events, { deliveryId }) {
      const content: WebhookBody = { type: "feature_flag.events", data: { events } };
      const timestamp = String(Math.floor(Date.now() / 1000));
      const webhook: SignedWebhook = { id: deliveryId, timestamp, body: JSON.stringify(content) };
      // With the first delivery: some runtimes do nothing of the kind before there is a request.
      importing ??= Promise.all(secrets.map(importSecret));
      const keys = await importing;
      const signatures = await Promise.all(keys.map((key) => signWebhook(key, webhook)));
      const response = await send(url, {
        method: "POST",
        body: webhook.body,
        headers: {
          ...own,
          "content-type": "application/json",
          "user-agent": "halyard-flags",
          "webhook-id": webhook.id,
          "webhook-timestamp": timestamp,
          "webhook-signature": signatures.join(" "),
        },
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      // Nothing in the body is of interest, however much there is of it.
      await response.body?.cancel();
      if (!response.ok) throw new Error(`The webhook was answered with status ${response.status}.`);
    },
  };
}

export type VerifyWebhookOptions = {
  /** The sender's secret; several while one replaces another. */
  secret: string | readonly string[];
  headers: Headers;
  /** The body as it came, before anything has parsed it. */
  body: string;
  /** How far the sender's clock may be off, and how late a request may arrive. Defaults to 300,000. */
  toleranceMs?: number | undefined;
  /** The current time in ms. Defaults to `Date.now()`. */
  nowMs?: number | undefined;
};

/**
 * Checks a webhook where it is received, and gives its id and events. Undefined: it was not sent by whoever has the
 * secret, not now, or not to be read; answer 401. An id that has been seen needs no second handling.
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
  if (secrets.length === 0) throw new TypeError("A webhook needs a secret to be signed with.");
  return secrets.map(readSecret);
}

/** By their names in lower case, as ours are: the same name twice would be sent with both values. */
function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    // The original error shows the value, which may be a password.
    throw new TypeError("The headers of a webhook have a name or a value that cannot be sent.");
  }
}

function checkTimeout(timeoutMs: number): void {
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) return;
  throw new TypeError(`A webhook's timeoutMs is above 0 and at most ${MAX_TIMEOUT_MS}.`);
}

function checkUrl(text: string, allowInsecure: boolean): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new TypeError("The URL of a webhook cannot be read.");
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("The URL of a webhook must not have a user or password in it. Use `headers`.");
  }
  const isOwn = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && (isOwn || allowInsecure))) return;
  throw new TypeError("The URL of a webhook must begin with https:, or `allowInsecure` be set for http:.");
}
