import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";

/** What a person is told whose worker cannot serve WebDriver. */
export const INSTALL_CHROMEDRIVER = `chromedriver is not installed on this worker: install ${LANE_PACKAGES.webdriver.join(" ")}`;

/** Absolute path of chromedriver; null when it is not installed. */
export const findChromedriver = (path = "/usr/local/bin:/usr/bin:/bin"): string | null =>
  Bun.which("chromedriver", { PATH: path });
