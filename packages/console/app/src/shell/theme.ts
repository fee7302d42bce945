/** Light, dark, or as the system says. The choice is kept in this browser. */
export type Theme = "system" | "light" | "dark";

const NAME = "halyard-console-theme";

export function startTheme(): void {
  apply(readTheme());
}

export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(NAME);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

export function chooseTheme(theme: Theme): void {
  apply(theme);
  try {
    localStorage.setItem(NAME, theme);
  } catch {
    // Browsers without storage keep the theme until the page is closed.
  }
}

function apply(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
