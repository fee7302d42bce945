/** The password of all users of this example. */
export const PASSWORD = "correct horse battery";
