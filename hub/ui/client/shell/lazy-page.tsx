import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { type LateFile, lateFile, useLateFile } from "../lib/late-file.ts";
import { LateNote } from "../parts/late-part.tsx";
import { Loading } from "../parts/states.tsx";

type PageProps = { params: Record<string, string> };

/** The file of a page, fetched when it is first wanted. */
export type PageFile = LateFile<ComponentType<PageProps>>;

export const pageFile = (fetchFile: () => Promise<{ Page: ComponentType<PageProps> }>): PageFile =>
  lateFile(async () => (await fetchFile()).Page);

const KEY = "flotilla-read-anew";
/** A page that is as incomplete after it was read anew would do so for ever. */
const ONCE_IN_MS = 60_000;

function readAnew(): boolean {
  const [address, at] = JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as [string?, number?];
  if (address === location.href && Date.now() - (at ?? 0) < ONCE_IN_MS) return false;
  sessionStorage.setItem(KEY, JSON.stringify([location.href, Date.now()]));
  location.reload();
  return true;
}

/** The server has no such file: it has been updated. Nothing of the page is shown yet, so that nothing is lost with it. */
function MissingPage() {
  const [given_up, setGivenUp] = useState(false);
  useEffect(() => setGivenUp(!readAnew()), []);
  return given_up ? <LateNote state="missing" /> : <Loading />;
}

/** Not React.lazy: what Suspense shows in the meantime stands for 300 ms, however soon the file comes. */
export function LazyPage({ file, params }: PageProps & { file: PageFile }): ReactNode {
  const late = useLateFile(file);
  if (late.state === "missing") return <MissingPage />;
  return late.state === "there" ? <late.value params={params} /> : <LateNote state={late.state} />;
}
