/** Makes pages of the site from pages of the repository: links, diagrams, front matter. Pure: text in, text out. */

import { createHash } from "node:crypto";
import { posix } from "node:path";
import { captionOf, findFences, listProse } from "../markdown.ts";
import { addressOf } from "./navigation.ts";

/** Where files are that the site does not show. */
const REPOSITORY = "https://github.com/halyard/halyard";
const BLOB = `${REPOSITORY}/blob/main/`;

/** Files of docs/ that the site serves as they are, below the same path without `docs/`. */
const ASSET =
  /^docs\/(?:(?:images|images\/console|performance)\/[\w-]+\.(?:png|svg|webp)|conformance\/[\w-]+\.json)$/;

export interface PageOptions {
  /** The repository's files, to tell a file from a folder. */
  readonly files: ReadonlySet<string>;
  /** The path below which the site is served: "/", or with a slash at both ends. */
  readonly base: string;
  /** The size of a rendered diagram in pixels. Undefined: it has not been rendered. */
  readonly diagramSize: (id: string) => { readonly width: number; readonly height: number } | undefined;
}

export function isAsset(file: string): boolean {
  return ASSET.test(file);
}

/** The address of a served file, without the site's base. */
export function assetAddress(file: string): string {
  return file.slice("docs".length);
}

/** The page as VitePress reads it. */
export function makePage(file: string, text: string, options: PageOptions): string {
  const body = rewriteLinks(file, replaceDiagrams(dropCaptions(text), options), options);
  return frontMatter(file, text) + body.replaceAll(/^(\s*[-*]) \[ \] /gm, "$1 ☐ ");
}

/** The site labels blocks itself. */
function dropCaptions(text: string): string {
  const lines = text.split("\n");
  const captions = findFences(text).flatMap((fence) =>
    lines[fence.line - 4] === captionOf(fence) ? [fence.line - 4, fence.line - 3] : [],
  );
  return lines.filter((_, index) => !captions.includes(index)).join("\n");
}

/** Change it with the settings of `diagrams.ts`, so that all diagrams are rendered again. */
const DRAWING = "2";

/** A diagram by its text, so that an unchanged one is rendered once. */
export function diagramId(text: string): string {
  return createHash("sha256").update(DRAWING).update(text).digest("hex").slice(0, 16);
}

export function listDiagrams(text: string): string[] {
  return findFences(text)
    .filter(({ language }) => language === "mermaid")
    .map(({ lines }) => lines.join("\n"));
}

/** What a reader who cannot see the picture gets: its labels, in the order of the text. */
export function describeDiagram(text: string): string {
  const labels = Array.from(
    text.matchAll(
      /"([^"]+)"|\[\(?([\w@$][^\][()"]*)\)?\]|(?:->>|-->>|--x|-\)|Note over [^:]*):?[^:\n]*: ?([^\n]+)/g,
    ),
    ([, quoted, bracketed, message]) => quoted ?? bracketed ?? message ?? "",
  );
  const clean = labels.map((label) =>
    label
      .replaceAll(/<br\s*\/?>/g, " ")
      .replaceAll(/[<>"&]/g, "")
      .trim(),
  );
  const distinct = [...new Set(clean)].filter((label) => label !== "");
  return distinct.length === 0 ? "Diagram" : `Diagram: ${distinct.join("; ")}`;
}

function replaceDiagrams(text: string, { diagramSize }: PageOptions): string {
  return text.replaceAll(/^```mermaid\n([\s\S]*?)\n```$/gm, (whole, code: string) => {
    const id = diagramId(code);
    const size = diagramSize(id);
    if (size === undefined) return whole;
    const alt = describeDiagram(code);
    const image = (look: string): string =>
      `<img class="${look}-only" src="/diagrams/${id}-${look}.svg" alt="${alt}" width="${size.width}" height="${size.height}" style="min-width: min(${size.width}px, 620px)" loading="lazy">`;
    return `<p class="diagram" tabindex="0">${image("light")}${image("dark")}</p>`;
  });
}

/** The front matter: where to edit the page, and what search engines show of it. */
function frontMatter(file: string, text: string): string {
  if (text.startsWith("---\n")) return "";
  const opening = listProse(text).find(
    ({ text: line }) => line.trim() !== "" && !/^(?:#|<!--|\||!\[|>|- )/.test(line.trim()),
  );
  const plain = (opening?.text ?? "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
  const description = plain.length <= 200 ? plain : `${plain.slice(0, plain.lastIndexOf(" ", 199))} …`;
  return `---\nsource: ${JSON.stringify(file)}\ndescription: ${JSON.stringify(description)}\n---\n\n`;
}

const LINK = /(\]\(\s*<?)([^()\s>]+)(?=>?(?:\s+"[^"]*")?\s*\))/g;
const LABEL = /^(\s*\[[^\]]+\]:\s+<?)(\S+?)(?=>?(?:\s|$))/g;
const ATTRIBUTE = /(\b(?:href|src)=")([^"]+)(?=")/g;

/** Changes links to files of the repository into addresses of the site, or of the repository on the web. */
function rewriteLinks(file: string, text: string, options: PageOptions): string {
  const prose = new Set(listProse(text).map(({ line }) => line));
  const rewrite = (link: string): string => resolveLink(file, link, options);
  return text
    .split("\n")
    .map((line, index) => {
      if (!prose.has(index + 1)) return line;
      // Inside of inline code nothing is a link. A link whose text is code ends in the part behind it.
      return line
        .split(/(`[^`]*`)/)
        .map((part, at) =>
          at % 2 === 1
            ? part
            : part
                .replaceAll(LINK, (_, before: string, link: string) => before + rewrite(link))
                .replaceAll(LABEL, (_, before: string, link: string) => before + rewrite(link))
                .replaceAll(ATTRIBUTE, (_, before: string, link: string) => {
                  const target = rewrite(link);
                  // VitePress adds the base to everything but links in HTML.
                  const isLink = before.startsWith("href") && target.startsWith("/");
                  return before + (isLink ? options.base.slice(0, -1) : "") + target;
                }),
        )
        .join("");
    })
    .join("\n");
}

function resolveLink(file: string, link: string, { files }: PageOptions): string {
  const isWeb = link.startsWith(BLOB);
  if (!isWeb && /^(?:[a-z][a-z0-9+.-]*:|\/)/i.test(link)) return link;
  const [path = "", anchor = ""] = (isWeb ? link.slice(BLOB.length) : link).split("#");
  if (path === "") return link;
  const target = isWeb ? path : posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, "");
  const suffix = anchor === "" ? "" : `#${anchor}`;
  const address = addressOf(target);
  if (address !== undefined && files.has(target)) return address + suffix;
  if (isAsset(target) && files.has(target)) return assetAddress(target);
  if (target.startsWith("..")) return link;
  return `${REPOSITORY}/${files.has(target) ? "blob" : "tree"}/main/${target}${suffix}`;
}
