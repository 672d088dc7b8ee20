import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type VariantColorsResolver,
} from "@mantine/core";

/** Which of the tokens' states each of Mantine's colours is: nothing on a page has a colour of its own. */
const STATES: Record<string, "live" | "ok" | "warn" | "bad" | "idle"> = {
  blue: "live",
  indigo: "live",
  cyan: "live",
  teal: "ok",
  green: "ok",
  yellow: "warn",
  orange: "warn",
  red: "bad",
  grape: "idle",
  gray: "idle",
};

/** Text on the ground of a state: the tokens' texts stand out from white and, in the dark, from black. */
const filled = (state: string) =>
  state === "live"
    ? { background: "var(--accent)", hover: "var(--accent-hover)", color: "var(--on-accent)" }
    : { background: `var(--${state})`, hover: `var(--${state})`, color: "var(--bg)" };

const variantColorResolver: VariantColorsResolver = (input) => {
  const state = STATES[String(input.color ?? "blue")];
  const usual = defaultVariantColorsResolver(input);
  if (state === undefined) return usual;
  const border = "1px solid transparent";
  const soft = `var(--${state}-soft)`;
  const color = `var(--${state})`;
  if (input.variant === "filled") return { ...filled(state), border };
  if (input.variant === "light") return { background: soft, hover: soft, color, border };
  if (input.variant === "subtle") return { background: "transparent", hover: soft, color, border };
  if (input.variant === "outline")
    return { background: "transparent", hover: soft, color, border: `1px solid ${color}` };
  return usual;
};

const FONT =
  '"Inter Variable", Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif';
const MONO =
  '"JetBrains Mono Variable", "JetBrains Mono", ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

/** Mantine on the tokens (styles/tokens.css): its sizes are theirs, so that an `md` of a component is the text of the app. */
export const theme = createTheme({
  primaryColor: "blue",
  defaultRadius: "sm",
  respectReducedMotion: true,
  fontFamily: FONT,
  fontFamilyMonospace: MONO,
  cursorType: "pointer",
  variantColorResolver,
  fontSizes: { xs: "12px", sm: "13px", md: "13px", lg: "15px", xl: "20px" },
  lineHeights: { xs: "1.3334", sm: "1.5385", md: "1.5385", lg: "1.3334", xl: "1.4" },
  radius: { xs: "4px", sm: "6px", md: "10px", lg: "10px", xl: "999px" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "24px", xl: "32px" },
  shadows: Object.fromEntries(
    ["xs", "sm", "md", "lg", "xl"].map((size) => [size, "var(--shadow-pop)"]),
  ),
  headings: {
    fontWeight: "640",
    sizes: {
      h1: { fontSize: "20px", lineHeight: "1.4" },
      h2: { fontSize: "15px", lineHeight: "1.3334" },
      h3: { fontSize: "15px", lineHeight: "1.3334" },
      h4: { fontSize: "15px", lineHeight: "1.3334" },
      h5: { fontSize: "13px", lineHeight: "1.5385" },
      h6: { fontSize: "12px", lineHeight: "1.3334" },
    },
  },
  components: {
    // Mounted lists are laid out with the page, each by a forced layout of its own.
    Combobox: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { openDelay: 300 } },
    Checkbox: { defaultProps: { radius: "xs", size: "xs" } },
    Switch: { defaultProps: { withThumbIndicator: false } },
    Paper: { defaultProps: { radius: "md" } },
    Card: { defaultProps: { radius: "md" } },
    Modal: { defaultProps: { radius: "md", closeButtonProps: { "aria-label": "Close" } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
  },
});

const variablesOf = (name: string, state: string): [string, string][] => [
  [`--mantine-color-${name}-filled`, `var(--${state}-solid)`],
  [`--mantine-color-${name}-filled-hover`, `var(--${state}-solid)`],
  [`--mantine-color-${name}-light`, `var(--${state}-soft)`],
  [`--mantine-color-${name}-light-hover`, `var(--${state}-soft)`],
  [`--mantine-color-${name}-light-color`, `var(--${state})`],
  [`--mantine-color-${name}-outline`, `var(--${state})`],
  [`--mantine-color-${name}-outline-hover`, `var(--${state}-soft)`],
  [`--mantine-color-${name}-text`, `var(--${state})`],
];

const SHARED: Record<string, string> = {
  "--mantine-color-body": "var(--bg)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-bright": "var(--text)",
  "--mantine-color-dimmed": "var(--text-3)",
  "--mantine-color-placeholder": "var(--text-3)",
  "--mantine-color-anchor": "var(--accent-text)",
  "--mantine-color-error": "var(--bad)",
  "--mantine-color-success": "var(--ok)",
  "--mantine-color-default": "var(--bg)",
  "--mantine-color-default-hover": "var(--bg-hover)",
  "--mantine-color-default-color": "var(--text)",
  "--mantine-color-default-border": "var(--line)",
  "--mantine-color-disabled": "var(--bg-sunk)",
  "--mantine-color-disabled-color": "var(--text-3)",
  "--mantine-color-disabled-border": "var(--line)",
  "--mantine-primary-color-contrast": "var(--on-accent)",
  ...Object.fromEntries(
    Object.entries(STATES).flatMap(([name, state]) => variablesOf(name, state)),
  ),
};

/** The greys of Mantine's own styles, from its lightest: grounds, lines, marks, texts. */
const GREYS = [
  ...["bg-side", "bg-sunk", "line", "line", "line-strong"],
  ...["idle-solid", "text-3", "text-2", "text-2", "text"],
];
const DARKS = [
  ...["text", "text-2", "text-3", "idle-solid", "line"],
  ...["bg-hover", "bg-raised", "bg", "bg-side", "bg-stage"],
];

const shades = (name: string, tokens: string[]) =>
  Object.fromEntries(tokens.map((token, i) => [`--mantine-color-${name}-${i}`, `var(--${token})`]));

/** Both schemes say the same: the tokens turn dark by themselves. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { ...SHARED, ...shades("gray", GREYS) },
  dark: { ...SHARED, ...shades("dark", DARKS) },
});
