/** Everybody's password. All of them are made up. */
export const PASSWORD = "correct horse battery";
