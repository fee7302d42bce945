/** The module `#app`, which `npm run build` writes. */
import type { AppContent } from "./app-files.ts";

export const content: AppContent;
