/** The page of one user, whose name is in the URL: `?user=ada`. */
import { wsClient } from "@halyard/wire/client";
import { WireProvider } from "@halyard/wire/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Assistant } from "./assistant.tsx";

const user = new URLSearchParams(location.search).get("user") ?? "ada";
const client = wsClient({ url: "/ws", auth: { getToken: () => user, attach: "protocol" } });

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <WireProvider client={client}>
        <Assistant user={user} />
      </WireProvider>
    </StrictMode>,
  );
