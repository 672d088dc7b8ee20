/** Debian's and Ubuntu's names of what browser lanes need: a start that fails and the doctor name them from here. */
export const LANE_PACKAGES = {
  browser: ["chromium", "chromium-sandbox"],
  /** Not needed for lanes without a display. */
  display: ["tigervnc-standalone-server"],
  fonts: ["fontconfig", "fonts-liberation"],
} as const;
