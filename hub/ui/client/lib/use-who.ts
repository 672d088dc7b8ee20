import { useSyncExternalStore } from "react";
import { loginStore, whoAmI } from "./logins.ts";

/** Who this browser is at the server, as it changes. */
export const useWho = () => useSyncExternalStore(loginStore.subscribe, whoAmI);
