/** Labels of code blocks: the name of a file, or that a block is a command or its output. */

import type { MarkdownRenderer } from "vitepress";

/** What the pages write behind the three backticks, for VitePress and for the label. */
function readInfo(info: string): { readonly language: string; readonly label: string } {
  const [language = "", ...rest] = info.trim().split(/\s+/);
  const file = rest.find((word) => word.startsWith("file="))?.slice("file=".length);
  if (file !== undefined) {
    // The variant of a file for another database.
    return { language, label: file.replace(/^(.+)\.postgres(\.\w+)$/, "$1$2 on PostgreSQL") };
  }
  switch (language) {
    case "sh":
      return { language, label: "Terminal" };
    case "output":
      return { language: "txt", label: "Output" };
    case "console":
      return { language: "txt", label: "Console of the page" };
    case "text":
      return { language: "txt", label: "Text of the page" };
    default:
      return { language: language === "" ? "txt" : language, label: "" };
  }
}

export function labelBlocks(markdown: MarkdownRenderer): void {
  const { fence } = markdown.renderer.rules;
  if (fence === undefined) return;
  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token === undefined) return "";
    const { language, label } = readInfo(token.info);
    token.info = language;
    const block = fence(tokens, index, options, env, self);
    if (label === "") return block;
    return `<div class="labelled-block"><div class="block-label">${markdown.utils.escapeHtml(label)}</div>${block}</div>`;
  };
}
