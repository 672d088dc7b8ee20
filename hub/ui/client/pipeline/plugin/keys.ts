import { seg } from "../../lib/http.ts";

/** Address of a plugin's state or blob: a slash of the key is sent as %2F. */
export const placeOf = (slug: string, kind: "state" | "blob", key = ""): string =>
  `/api/v1/plugins/${seg(slug)}/${kind}${key === "" ? "" : `/${seg(key)}`}`;
