/** Puts the app on the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element #root: see index.html.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
