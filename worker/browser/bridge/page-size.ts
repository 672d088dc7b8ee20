import type { CdpSession } from "../cdp/connection.ts";
import type { Size } from "./rfb-wire.ts";

/** How large viewers want the page to be. The latest request wins. */
export interface PageSize {
  /** Null withdraws a viewer's request. False: nothing has changed. */
  wish(viewer: object, size: Size | null): boolean;
  /** Whether any viewer has a request. */
  isWished(): boolean;
  apply(page: CdpSession): Promise<void>;
}

export function createPageSize(): PageSize {
  /** In the order in which they were reported. */
  const wishes = new Map<object, Size>();
  return {
    isWished: () => wishes.size > 0,
    wish: (viewer, size) => {
      if (!wishes.delete(viewer) && size === null) return false;
      if (size) wishes.set(viewer, size);
      return true;
    },
    apply: async (page) => {
      const size = [...wishes.values()].at(-1);
      if (!size) return void (await page.send("Emulation.clearDeviceMetricsOverride"));
      const { width, height } = size;
      const params = { width, height, deviceScaleFactor: 1, mobile: false };
      await page.send("Emulation.setDeviceMetricsOverride", params);
    },
  };
}
