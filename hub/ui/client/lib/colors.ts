import { localStorageColorSchemeManager } from "@mantine/core";
import { CHOSEN_COLORS } from "../../chosen-colors.ts";

const YEAR_S = 365 * 24 * 3_600;
const kept = localStorageColorSchemeManager({ key: CHOSEN_COLORS });

/** The server draws the first of a page, before any script: a cookie tells it what was chosen here. */
function tellServer(value: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: other browsers than Chromium lack the cookie store
  document.cookie = `${CHOSEN_COLORS}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
}

/** Light, dark or as the system has it: kept in this browser. */
export const colors: typeof kept = {
  get: (usual) => {
    const value = kept.get(usual);
    if (value !== usual) tellServer(value);
    return value;
  },
  set: (value) => {
    kept.set(value);
    tellServer(value);
  },
  subscribe: kept.subscribe,
  unsubscribe: kept.unsubscribe,
  clear: kept.clear,
};
