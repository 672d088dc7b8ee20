import { info } from "./info.ts";
import { useGet } from "./query.ts";

/** How the server is, whichever of the two it is. */
export const useHealth = () => useGet(info.fleet ? "/health" : "/api/v1/health");
