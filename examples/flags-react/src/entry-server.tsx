/** Renders the page to HTML. */
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { Page, type PageProps } from "./page.tsx";

export function render(props: PageProps): string {
  return renderToString(
    <StrictMode>
      <Page {...props} />
    </StrictMode>,
  );
}
