import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "capstan-explorer-theme";

/** theme is the user's choice. It is all that the page keeps in the browser. */
export const theme = signal<Theme>((localStorage.getItem(key) as Theme | null) ?? "system");

const dark = matchMedia("(prefers-color-scheme: dark)");
/** isDark is the colour scheme that is shown. */
export const isDark = signal(false);

function apply(): void {
  isDark.value = theme.value === "dark" || (theme.value === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
}

dark.addEventListener("change", apply);
effect(() => {
  if (theme.value === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, theme.value);
  apply();
});
