import { type CSSVariablesResolver, createTheme, darken } from "@mantine/core";

/** One accent, quiet greys; texts in every colour stand out from their ground by 4.5 to 1 (WCAG 2 AA). */
export const theme = createTheme({
  primaryColor: "blue",
  primaryShade: 8,
  defaultRadius: "sm",
  autoContrast: true,
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  cursorType: "pointer",
  components: {
    // Mounted lists are laid out with the page, each by a forced layout of its own.
    Combobox: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    Modal: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
  },
});

/** So much darker than Mantine has it, a text stands out from the light ground of its colour: yellow, the weakest, by 5 to 1. */
const DARKER = 0.3;

/** Mantine's dimmed texts, its errors and its texts on light grounds stand out too little. */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": colors.gray[7],
    "--mantine-color-placeholder": "#666e76",
    "--mantine-color-error": colors.red[9],
    ...Object.fromEntries(
      Object.entries(colors).map(([name, shades]) => [
        `--mantine-color-${name}-light-color`,
        darken(shades[9], DARKER),
      ]),
    ),
  },
  dark: {
    "--mantine-color-dimmed": colors.dark[1],
    "--mantine-color-placeholder": "#a3a3a3",
    "--mantine-color-error": colors.red[4],
  },
});
