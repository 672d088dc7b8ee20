import { type ComponentType, type ReactNode, useEffect, useReducer, useState } from "react";
import { Loading } from "../parts/states.tsx";

type PageProps = { params: Record<string, string> };
type PageModule = { Page: ComponentType<PageProps> };

/** The file of a page, fetched when it is first wanted. */
export interface PageFile {
  Page: PageModule["Page"] | null;
  /** @throws what the browser says when the file does not come */
  load(): Promise<void>;
}

export function pageFile(fetchFile: () => Promise<PageModule>): PageFile {
  const file: PageFile = {
    Page: null,
    load: async () => {
      file.Page ??= (await fetchFile()).Page;
    },
  };
  return file;
}

/** Not React.lazy: what Suspense shows in the meantime stands for 300 ms, however soon the file comes. */
export function LazyPage({ file, params }: PageProps & { file: PageFile }): ReactNode {
  const [, drawAgain] = useReducer((n: number) => n + 1, 0);
  const [failure, setFailure] = useState<{ error: unknown } | null>(null);
  useEffect(() => {
    if (file.Page === null) file.load().then(drawAgain, (error) => setFailure({ error }));
  }, [file]);
  if (failure) throw failure.error;
  return file.Page ? <file.Page params={params} /> : <Loading />;
}
