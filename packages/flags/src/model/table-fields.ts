/** The columns that the plugin's tables are made of. */
import type { DBFieldAttribute } from "@better-auth/core/db";

/** Without `sortable`, a string column has the type `text` on MySQL, which can be neither indexed nor sorted. */
export const line: DBFieldAttribute = { type: "string", required: true, sortable: true };
export const optionalLine: DBFieldAttribute = { type: "string", required: false, sortable: true };
export const uniqueLine: DBFieldAttribute = { type: "string", required: true, unique: true };
export const text: DBFieldAttribute = { type: "string", required: true };
export const optionalText: DBFieldAttribute = { type: "string", required: false };
export const integer: DBFieldAttribute = { type: "number", required: true };
export const optionalInteger: DBFieldAttribute = { type: "number", required: false };
export const bigInteger: DBFieldAttribute = { type: "number", bigint: true, required: true };
export const boolean: DBFieldAttribute = { type: "boolean", required: true };
export const date: DBFieldAttribute = { type: "date", required: true, defaultValue: () => new Date() };
