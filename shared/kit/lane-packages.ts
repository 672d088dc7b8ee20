/**
 * Debian's and Ubuntu's names of the packages that browser lanes need; failed starts and the doctor use this
 * list.
 */
export const LANE_PACKAGES = {
  browser: ["chromium", "chromium-sandbox"],
  /** Not needed for lanes without a display. */
  display: ["tigervnc-standalone-server"],
  fonts: ["fontconfig", "fonts-liberation"],
} as const;
