/** Where the console is mounted, and the nonce for styles that libraries add. Both are in the page that the server sends. */

/** The path of the console without a slash at its end, such as `/ops/flags`; empty when it is mounted at the root. */
export const basePath: string = new URL(document.baseURI).pathname.replace(/\/[^/]*$/, "");

const meta = document.querySelector<HTMLElement>('meta[property="csp-nonce"]');

/** Browsers hide the attribute from scripts, so the property is read. */
export const nonce: string | undefined = meta?.nonce === "" ? undefined : meta?.nonce;
