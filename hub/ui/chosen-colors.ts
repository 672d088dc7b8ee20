/** Under which a browser keeps whether its pages are light, dark or as the system has it: for itself, and as a cookie for the server. */
export const CHOSEN_COLORS = "flotilla-colors";

/** What a page can say before its scripts run; null where the system decides. */
export type FirstColors = "light" | "dark" | null;

/** @param cookie of a browser: anything */
export const firstColors = (cookie: string | undefined): FirstColors =>
  cookie === "light" || cookie === "dark" ? cookie : null;
