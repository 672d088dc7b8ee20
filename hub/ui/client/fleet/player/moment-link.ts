import { copyText } from "../../lib/clipboard.ts";
import { withQuery } from "../../lib/http.ts";
import { tellDone } from "../../lib/query.ts";
import { showUncopied } from "../../parts/copy.tsx";
import { momentParam } from "./model/transport.ts";

/** The moment of the player on this page: null at the end of a run that goes on. */
type ReadMoment = () => number | null;
let shown: ReadMoment | null = null;

/** Says where the player is, for as long as it is there. @returns what ends that */
export function tellMoment(read: ReadMoment): () => void {
  shown = read;
  return () => {
    if (shown === read) shown = null;
  };
}

/** The address of this page at the moment that its player shows, which the address itself has only once that stands still. */
function momentLink(): string {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const ms = shown?.() ?? null;
  const t = ms === null ? undefined : momentParam(ms);
  return location.origin + withQuery(location.pathname, { ...query, t });
}

/** Puts the address of the moment on the clipboard, and says so. */
export async function copyMoment(): Promise<void> {
  const link = momentLink();
  if (await copyText(link)) tellDone("The link to this moment is copied");
  else showUncopied(link);
}
