/** Starts the console: the theme first, so that nothing flashes, then the screens. */
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createQueryClient } from "./api/client.ts";
import { nonce } from "./config.ts";
import { createConsoleRouter } from "./router.tsx";
import { startTheme } from "./shell/theme.ts";

startTheme();
// Radix locks the scrolling of the page behind a dialog with a style element, which the policy allows only with the nonce.
if (nonce !== undefined) setNonce(nonce);

const place = document.querySelector("#app");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={createQueryClient()}>
        <RouterProvider router={createConsoleRouter()} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
