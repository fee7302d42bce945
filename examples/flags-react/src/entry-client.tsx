/** Hydrates the page with the flags and the user it was rendered with. */
import { mountFlagsToolbar } from "@halyard/devtools/toolbar";
import { StrictMode } from "react";
import { hydrateRoot } from "react-dom/client";
import { authClient } from "./client.ts";
import { Page } from "./page.tsx";
import { connect } from "./socket.ts";

const root = document.getElementById("root");
const rendered = document.getElementById("rendered")?.textContent;
if (root === null || !rendered)
  throw new Error("The page has no server-rendered data. Open it through the server in app.ts.");

const { bootstrap, viewer, stock } = JSON.parse(rendered);
connect();
// Shows the flags of the page in development; a production build does not contain it.
mountFlagsToolbar(authClient, { theme: "light" });
hydrateRoot(
  root,
  <StrictMode>
    <Page bootstrap={bootstrap ?? undefined} viewer={viewer ?? undefined} stock={stock} />
  </StrictMode>,
);
