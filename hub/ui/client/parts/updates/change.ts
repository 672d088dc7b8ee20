import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";

export const PATH = "/api/v1/updates";

/** One call of the administrator's; the server asks for the password, and the page for it in its turn. */
export const useUpdateCall = <In>(
  what: (input: In) => { path: string; json?: unknown },
  told: { done: string; failed: string; quiet?: boolean },
) =>
  useChange((input: In) => {
    const { path, json } = what(input);
    return call<FleetUpdates>("POST", `${PATH}/${path}`, json === undefined ? {} : { json });
  }, told);
