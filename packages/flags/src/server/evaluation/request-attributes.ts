/** Device and place from request headers: a guess from the user agent, and the headers that proxies add. */
import type { DeviceInfo, GeoInfo } from "../../engine/definition.ts";

/** The first matching pattern wins. The order matters, because browsers name each other in their user agents. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\b(?:OPR|Opera)\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Chrome|CriOS|Chromium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bWindows\b/, "Windows"],
  [/\b(?:iPhone|iPad|iPod)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

const TYPES: readonly (readonly [RegExp, NonNullable<DeviceInfo["type"]>])[] = [
  [/bot\b|crawler|spider|slurp|headless/i, "bot"],
  [/\biPad\b|\bTablet\b|\bAndroid\b(?!.*\bMobile\b)/, "tablet"],
  [/\bMobi|\biPhone\b|\biPod\b/, "mobile"],
  [/\bWindows\b|\bMac OS X\b|\bLinux\b|\bCrOS\b/, "desktop"],
];

/** The headers of Cloudflare, Vercel and CloudFront, in that order. */
const PLACES: Readonly<Record<keyof GeoInfo, readonly string[]>> = {
  country: ["cf-ipcountry", "x-vercel-ip-country", "cloudfront-viewer-country"],
  region: ["cf-region-code", "x-vercel-ip-country-region", "cloudfront-viewer-country-region"],
  city: ["cf-ipcity", "x-vercel-ip-city", "cloudfront-viewer-city"],
  timezone: ["cf-timezone", "x-vercel-ip-timezone", "cloudfront-viewer-time-zone"],
};

/** A longer user agent is not a browser's. */
const MAX_USER_AGENT = 512;

export function collectDevice(headers: Pick<Headers, "get">): DeviceInfo | undefined {
  const agent = headers.get("user-agent");
  if (agent === null || agent.length > MAX_USER_AGENT) return undefined;
  const os = firstMatch(SYSTEMS, agent);
  const browser = firstMatch(BROWSERS, agent);
  return {
    type: firstMatch(TYPES, agent) ?? "unknown",
    ...(os !== undefined && { os }),
    ...(browser !== undefined && { browser }),
  };
}

export function collectGeo(headers: Pick<Headers, "get">): GeoInfo | undefined {
  const found = Object.entries(PLACES).flatMap(([field, names]) => {
    const value = names.map((name) => headers.get(name)).find((one) => one !== null && one !== "");
    return typeof value === "string" ? [[field, decoded(value)] as const] : [];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function firstMatch<Name>(table: readonly (readonly [RegExp, Name])[], agent: string): Name | undefined {
  return table.find(([pattern]) => pattern.test(agent))?.[1];
}

/** City names are percent-encoded, because headers hold only ASCII. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
