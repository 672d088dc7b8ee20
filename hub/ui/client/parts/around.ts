import { createContext, type ReactNode, useContext } from "react";

/** What the frame puts into the head of a page, which knows no other page. */
export interface Around {
  /** Address of the guide's page about this one. */
  guide: string;
  /** Before the title; null where the side bar has the mark. */
  home: ReactNode;
  /** At the end of the line, where no side bar has it. */
  find: ReactNode;
  /** Links to the pages of the place, where no side bar has them. */
  pages: ReactNode;
}

const Context = createContext<Around>({ guide: "/guide", home: null, find: null, pages: null });

export const AroundPage = Context.Provider;
export const useAround = (): Around => useContext(Context);
