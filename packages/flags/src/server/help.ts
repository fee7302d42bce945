/** The page that explains every error code and log line. */
export const HELP = "https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md";
