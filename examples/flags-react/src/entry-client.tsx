/** Takes over the page that the server rendered, with what it was rendered with. */
import { StrictMode } from "react";
import { hydrateRoot } from "react-dom/client";
import { Page } from "./page.tsx";

const root = document.getElementById("root");
const rendered = document.getElementById("rendered")?.textContent;
if (root === null || !rendered) throw new Error("The page was not rendered by the server: see app.ts.");

const { bootstrap, viewer } = JSON.parse(rendered);
hydrateRoot(
  root,
  <StrictMode>
    <Page bootstrap={bootstrap ?? undefined} viewer={viewer ?? undefined} />
  </StrictMode>,
);
