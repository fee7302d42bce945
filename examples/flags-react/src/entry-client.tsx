/** Hydrates the page with the flags and the user it was rendered with. */
import { StrictMode } from "react";
import { hydrateRoot } from "react-dom/client";
import { Page } from "./page.tsx";
import { connect } from "./socket.ts";

const root = document.getElementById("root");
const rendered = document.getElementById("rendered")?.textContent;
if (root === null || !rendered)
  throw new Error("The page has no server-rendered data. Open it through the server in app.ts.");

const { bootstrap, viewer, stock } = JSON.parse(rendered);
connect();
hydrateRoot(
  root,
  <StrictMode>
    <Page bootstrap={bootstrap ?? undefined} viewer={viewer ?? undefined} stock={stock} />
  </StrictMode>,
);
