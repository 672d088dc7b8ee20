import { createContext } from "react";

/** How much of the window's width a table cannot have, in pixels: it chooses its columns by the rest. */
export const RoomTaken = createContext(0);

/** A window with room for a detail has the whole side bar; the columns count on its rail (`--nav` less `--rail`). */
export const SIDE_BAR_PX = 156;
