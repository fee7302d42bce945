/** Checks that the files and relative links that Markdown pages name exist. */

import { posix } from "node:path";
import { findAnchors, findInlineCode, findLinks } from "./markdown.ts";

/** The part of the repository that the checks read. */
export interface Tree {
  readonly files: readonly string[];
  read(file: string): string;
}

const FILE = /^[\w@.*-]+(?:\/[\w@.*-]+)*\.(?:tsx?|mjs|js|json|md|sh|ya?ml|sql|html|css)$/;
const FOLDER = /^[\w.*-]+(?:\/[\w.*-]+)*\/$/;

/** Files and folders in backticks that do not exist, for the pages whose text is a map of the repository. */
export function findMissingNames(tree: Tree, pages: readonly string[]): string[] {
  const paths = [...new Set(tree.files.flatMap(withFolders))];
  return pages.flatMap((page) =>
    findInlineCode(tree.read(page))
      .filter(({ text }) => namesPath(page, text, paths) && !exists(text, paths))
      .map(({ text, line }) => `${page}:${line}: \`${text}\` does not exist in the repository.`),
  );
}

/** Where the repository's pages are on the web. Packages' READMEs link there, because registries show them too. */
const WEB = "https://github.com/halyard/halyard/blob/main/";
const PACKAGE_README = /^packages\/[^/]+\/README\.md$/;

/** Links to files or headings of this repository that do not exist. */
export function findBrokenLinks(tree: Tree): string[] {
  const paths = new Set(tree.files.flatMap(withFolders));
  const anchors = new Map<string, Set<string>>();
  const anchorsOf = (page: string): Set<string> => {
    const pageAnchors = anchors.get(page) ?? findAnchors(tree.read(page));
    anchors.set(page, pageAnchors);
    return pageAnchors;
  };
  const problems: string[] = [];
  for (const page of tree.files.filter((file) => file.endsWith(".md"))) {
    for (const { text: link, line } of findLinks(tree.read(page))) {
      if (!link.startsWith(WEB) && /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(link)) continue;
      if (PACKAGE_README.test(page) && !link.startsWith(WEB) && !link.startsWith("#")) {
        problems.push(`${page}:${line}: the link ${link} does not work in a registry. Begin it with ${WEB}.`);
        continue;
      }
      const [path = "", anchor = ""] = link.split("#");
      const target = resolve(page, path);
      if (target !== "." && !paths.has(target)) {
        problems.push(`${page}:${line}: the link ${link} leads to ${target}, which does not exist.`);
      } else if (anchor !== "" && target.endsWith(".md") && !anchorsOf(target).has(anchor)) {
        problems.push(
          `${page}:${line}: the link ${link} names #${anchor}, but ${target} has no such heading.`,
        );
      }
    }
  }
  return problems;
}

/** The path in this repository that a link of the page leads to. */
function resolve(page: string, path: string): string {
  if (path === "") return page;
  if (path.startsWith(WEB)) return decodeURI(path.slice(WEB.length)).replace(/\/$/, "");
  return posix.join(posix.dirname(page), decodeURI(path)).replace(/\/$/, "");
}

/**
 * A name with a slash is a path if it ends like a file or folder, or starts with a folder of this repository.
 * A bare file name is a path only in ARCHITECTURE.md: a README also names files in the reader's project.
 */
function namesPath(page: string, text: string, paths: readonly string[]): boolean {
  if (text.startsWith("@") || text.startsWith(".")) return false;
  if (!text.includes("/")) return FILE.test(text) && posix.basename(page) === "ARCHITECTURE.md";
  const [first = ""] = text.split("/");
  return FILE.test(text) || FOLDER.test(text) || (paths.includes(first) && /^[\w@.*/-]+$/.test(text));
}

/** A path may omit leading folders: `router/dispatch.ts` stands for `packages/wire/src/router/dispatch.ts`. */
function exists(text: string, paths: readonly string[]): boolean {
  const name = text.replace(/\/$/, "");
  const pattern = new RegExp(
    `(?:^|/)${name
      .replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll("**", ".+")
      .replaceAll(/(?<!\.)\*/g, "[^/]+")}$`,
  );
  return paths.some((path) => pattern.test(path));
}

function withFolders(file: string): string[] {
  const parts = file.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
