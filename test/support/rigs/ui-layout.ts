import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

const LOOK = readFileSync(join(import.meta.dir, "ui-layout.page.js"), "utf8");

/**
 * What is wrong with the layout of a page as it stands (rules/web-app#every-page): anything wider than the window, text
 * that is cut without an ellipsis, and texts that lie over each other. What stands below `data-layout-free` is not judged.
 */
export const layoutFaults = (page: Page): Promise<string[]> => page.evaluate<string[]>(LOOK);

/** The windows in which every page is judged, and in which the gallery takes its pictures. */
export const WINDOWS = {
  desk: { width: 1440, height: 900 },
  tablet: { width: 820, height: 1180 },
  phone: { width: 390, height: 844 },
} as const;
