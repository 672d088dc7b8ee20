import { useSyncExternalStore } from "react";
import { offlineSince, subscribeConnection } from "./connection.ts";

/** Since when the server does not answer, by this browser's clock; null while it does. */
export const useOffline = (): number | null =>
  useSyncExternalStore(subscribeConnection, offlineSince);
