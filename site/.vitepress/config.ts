/** VitePress over the pages that `npm run site` writes to `.pages`. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { slugify } from "../../tools/markdown.ts";
import { listFiles } from "../../tools/repository.ts";
import { type SidebarItem, START, sidebarOf } from "../../tools/site/navigation.ts";
import versions from "../versions.json" with { type: "json" };
import { labelBlocks } from "./blocks.ts";

const REPOSITORY = "https://github.com/halyard/halyard";
const base = process.env["HALYARD_SITE_BASE"] ?? "/";
const url = process.env["HALYARD_SITE_URL"];
const site = join(import.meta.dirname, "..");
const files = listFiles();
const [current] = versions;

/** Written beside the API reference: its pages, by package. */
const apiFile = join(site, ".pages/reference/api/sidebar.json");
const api: SidebarItem[] = existsSync(apiFile) ? JSON.parse(readFileSync(apiFile, "utf8")) : [];

const reference: SidebarItem[] = [
  {
    text: "Protocols",
    items: [
      { text: "Wire protocol", link: "/reference/protocol" },
      { text: "Conformance cases", link: "/reference/conformance" },
      { text: "HTTP API of flags", link: "/reference/http/index.html", target: "_self" },
    ],
  },
  ...api,
];

const evidencePages = files.filter((file) => /^docs\/evidence\/(?!README)[\w-]+\.md$/.test(file));
const evidence: SidebarItem[] = [
  {
    text: "Evidence",
    items: [
      { text: "Load and fault results", link: "/evidence/" },
      ...files
        .filter((file) => /^docs\/(?!README|protocol)[\w-]+\.md$/.test(file))
        .map((file) => ({ text: titleOf(file), link: `/evidence/${nameOf(file)}` })),
    ],
  },
  {
    text: "Results",
    items: evidencePages
      .filter((file) => !nameOf(file).startsWith("notes-"))
      .map((file) => ({ text: titleOf(file), link: `/evidence/${nameOf(file)}` })),
  },
  {
    text: "Notes",
    items: evidencePages
      .filter((file) => nameOf(file).startsWith("notes-"))
      .map((file) => ({ text: titleOf(file), link: `/evidence/${nameOf(file)}` })),
  },
];
const project: SidebarItem[] = [
  {
    text: "Project",
    items: [
      { text: "All pages", link: "/pages" },
      { text: "Architecture", link: "/project/architecture" },
      { text: "Contributing", link: "/project/contributing" },
      { text: "Security policy", link: "/project/security" },
    ],
  },
  {
    text: "Examples",
    items: files
      .filter((file) => /^examples\/[\w-]+\/README\.md$/.test(file))
      .map((file) => ({ text: titleOf(file), link: `/examples/${file.split("/")[1]}` })),
  },
];

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1, -".md".length);
}

function titleOf(file: string): string {
  const [, title = nameOf(file)] = /^# (.+)$/m.exec(readFileSync(join(site, "..", file), "utf8")) ?? [];
  return title.replaceAll(/[`*]/g, "");
}

export default defineConfig({
  lang: "en",
  title: "Halyard",
  titleTemplate: ":title | Halyard",
  description: "Typed real-time messages and feature flags for TypeScript teams that run their own app.",
  base,
  srcDir: ".pages",
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", href: `${base}logo.svg`, type: "image/svg+xml" }],
    ["meta", { name: "theme-color", content: "#11508d" }],
  ],
  ...(url !== undefined && { sitemap: { hostname: url } }),
  transformHead({ page }) {
    if (url === undefined) return [];
    const path = page.replace(/(?:^|(?<=\/))index\.md$/, "").replace(/\.md$/, "");
    return [["link", { rel: "canonical", href: new URL(path, url).href }]];
  },
  markdown: {
    // The anchors of GitHub, so that one link works in both places.
    anchor: { slugify },
    image: { lazyLoad: true },
    languageAlias: { caddyfile: "nginx" },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: labelBlocks,
  },
  themeConfig: {
    logo: { src: "/logo.svg", alt: "" },
    nav: [
      { text: "Wire", link: START.wire, activeMatch: "^/wire/" },
      { text: "Flags", link: START.flags, activeMatch: "^/flags/" },
      {
        text: "Reference",
        activeMatch: "^/reference/",
        items: [
          { text: "API", link: "/reference/api/" },
          { text: "HTTP API of flags", link: "/reference/http/index.html", target: "_self" },
          { text: "Wire protocol", link: "/reference/protocol" },
          { text: "Conformance cases", link: "/reference/conformance" },
          { text: "Limits of wire", link: "/wire/limits" },
          { text: "Troubleshooting: wire", link: "/wire/troubleshooting" },
          { text: "Troubleshooting: flags", link: "/flags/troubleshooting" },
        ],
      },
      {
        text: "Evidence",
        activeMatch: "^/evidence/",
        items: [
          { text: "Performance", link: "/evidence/performance" },
          { text: "Load and fault results", link: "/evidence/" },
          { text: "Decisions", link: "/evidence/decisions" },
          { text: "Architecture", link: "/project/architecture" },
        ],
      },
      {
        text: current === undefined ? "Versions" : `v${current.name}`,
        activeMatch: "^/pages$",
        items: [
          ...versions.map(({ name, path }, index) => ({
            text: index === 0 ? `${name} (this one)` : name,
            // The root of the host, and not of this version's folder.
            link: index === 0 ? "/" : url === undefined ? path : new URL(path, url).href,
          })),
          { text: "All pages", link: "/pages" },
          { text: "Releases", link: `${REPOSITORY}/releases` },
        ],
      },
    ],
    sidebar: {
      "/wire/": sidebarOf("wire", files),
      "/flags/": sidebarOf("flags", files),
      "/reference/": reference,
      "/evidence/": evidence,
      "/project/": project,
      "/examples/": project,
      "/pages": project,
    },
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        miniSearch: {
          searchOptions: {
            fuzzy: 0.1,
            prefix: true,
            boost: { title: 6, titles: 2, text: 1 },
            // Guides first: a reader of the reference mostly searches a name, which its title has.
            boostDocument: (id: string) =>
              /\/(?:evidence|project)\//.test(id) ? 0.4 : /\/reference\/api\//.test(id) ? 0.7 : 1,
          },
        },
      },
    },
    editLink: {
      text: "Edit this page",
      pattern: ({ frontmatter }) => `https://github.com/halyard/halyard/edit/main/${frontmatter["source"]}`,
    },
    socialLinks: [{ icon: "github", link: REPOSITORY, ariaLabel: "Halyard on GitHub" }],
    footer: { message: "MIT licensed. Node ≥ 22, Bun ≥ 1.3, Cloudflare Workers, current browsers." },
    externalLinkIcon: false,
  },
});
