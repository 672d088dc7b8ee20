/**
 * Debian's and Ubuntu's names of the packages that browser lanes need; failed starts and the doctor use this
 * list.
 */
export const LANE_PACKAGES = {
  browser: ["chromium", "chromium-sandbox"],
  /** Not needed for lanes without a display. */
  display: ["tigervnc-standalone-server"],
  /** Needed only for authorities of one's own (SVC_BROWSER_CA, `certificate_authorities`). */
  authorities: ["libnss3-tools"],
  fonts: ["fontconfig", "fonts-liberation"],
  /** Needed only for clients that speak WebDriver. */
  webdriver: ["chromium-driver"],
} as const;
