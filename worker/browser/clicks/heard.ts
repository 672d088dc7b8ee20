import { z } from "zod";
import { ElementWords, FoundSelector, MOST_SELECTORS, short } from "../picker/described.ts";

const element = {
  ...ElementWords.shape,
  /** The element's own while its document is there. */
  field: z.string().max(100),
  selectors: z.array(FoundSelector).min(1).max(MOST_SELECTORS),
};
const heard = <K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.object({ kind: z.literal(kind), ...shape });

/** What the code of `listen.page.js` says: its shape is ours, its words are the page's. */
export const Heard = z.discriminatedUnion("kind", [
  heard("here", {}),
  heard("click", { ...element, count: z.int().min(1).max(3), text_field: z.boolean() }),
  heard("fill", { ...element, text: z.string().max(10_000), autocomplete: short }),
  heard("select", { ...element, values: z.array(z.string().max(200)).max(100) }),
  heard("tick", { ...element, checked: z.boolean() }),
  heard("upload", { ...element, files: z.array(z.string().max(255)).max(100) }),
  heard("press", { ...element, key: z.string().min(1).max(100) }),
  heard("scroll", { amount: z.number().min(-1e7).max(1e7) }),
]);
export type Heard = z.infer<typeof Heard>;

/** The largest message of a page that is read. */
export const MAX_HEARD_CHARS = 200_000;
