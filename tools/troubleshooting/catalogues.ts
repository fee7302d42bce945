/** The packages that have a troubleshooting page. */

import type { Catalogue } from "./entries.ts";
import { flags } from "./flags.ts";
import { wire } from "./wire.ts";

export const catalogues: readonly Catalogue[] = [wire, flags];
