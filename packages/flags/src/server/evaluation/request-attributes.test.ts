import { describe, expect, test } from "vitest";
import { collectDevice, collectGeo } from "./request-attributes.ts";

const device = (agent: string) => collectDevice(new Headers({ "user-agent": agent }));

describe("the device, by its user agent", () => {
  test.each([
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
      { type: "desktop", os: "Windows", browser: "Edge" },
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
      { type: "desktop", os: "macOS", browser: "Safari" },
    ],
    [
      "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
      { type: "desktop", os: "Linux", browser: "Firefox" },
    ],
    [
      "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
      { type: "mobile", os: "Android", browser: "Chrome" },
    ],
    [
      "Mozilla/5.0 (Linux; Android 13; SM-X900) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
      { type: "tablet", os: "Android", browser: "Chrome" },
    ],
    [
      "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
      { type: "tablet", os: "iOS", browser: "Safari" },
    ],
    ["Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", { type: "bot" }],
    ["curl/8.7.1", { type: "unknown" }],
  ])("%s", (agent, expected) => {
    expect(device(agent)).toEqual(expected);
  });

  test("is not guessed without one, or from one that no browser sends", () => {
    expect(collectDevice(new Headers())).toBeUndefined();
    expect(device("x".repeat(513))).toBeUndefined();
  });
});

describe("the place, by the headers of the proxy in front", () => {
  test.each([
    [
      { "cf-ipcountry": "DE", "cf-timezone": "Europe/Berlin" },
      { country: "DE", timezone: "Europe/Berlin" },
    ],
    [
      { "x-vercel-ip-country": "BR", "x-vercel-ip-city": "S%C3%A3o%20Paulo" },
      { country: "BR", city: "São Paulo" },
    ],
    [
      { "cloudfront-viewer-country": "JP", "cloudfront-viewer-country-region": "13" },
      { country: "JP", region: "13" },
    ],
    [{ "x-vercel-ip-city": "%zz" }, { city: "%zz" }],
    [{ "cf-ipcountry": "" }, undefined],
    [{}, undefined],
  ])("%j", (headers, expected) => {
    expect(collectGeo(new Headers(headers as Record<string, string>))).toEqual(expected);
  });
});
