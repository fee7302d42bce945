// The look that the reader chose on the other pages, or the system's.
const chosen = localStorage.getItem("vitepress-theme-appearance") ?? "auto";
const isDark = chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);

// Scalar's own colors have less contrast than 4.5, and its links are lower than 24 px.
const customCss = `
  .light-mode {
    --scalar-color-2: #4a5565;
    --scalar-color-3: #5c6778;
    --scalar-color-green: #00693f;
    --scalar-color-blue: #0a5a9c;
    --scalar-color-orange: #9a4a00;
    --scalar-color-red: #b3121f;
    --scalar-color-yellow: #7a5a00;
    --scalar-color-purple: #6a2fa0;
  }
  .dark-mode {
    --scalar-color-2: #c0c7d2;
    --scalar-color-3: #a3acba;
  }
  .endpoints .endpoint {
    min-height: 24px;
    padding-block: 2px;
  }
`;

// Scalar has buttons without a name, and links that are buttons.
let isWaiting = false;
function nameControls() {
  isWaiting = false;
  for (const button of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])')) {
    button.setAttribute("aria-label", "Copy");
  }
  for (const link of document.querySelectorAll("#reference a:not([href], [role])")) {
    link.setAttribute("role", "button");
    link.tabIndex = 0;
  }
}
new MutationObserver(() => {
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(nameControls, 200);
}).observe(document.body, { childList: true, subtree: true });

window.Scalar.createApiReference("#reference", {
  url: "openapi.json",
  customCss,
  darkMode: isDark,
  hideDarkModeToggle: true,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  hideTestRequestButton: true,
  hiddenClients: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: "json",
});
