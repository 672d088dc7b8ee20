import { z } from "zod";
import { SELECTOR_KINDS } from "#shared/protocol/schema/recorded-input.ts";

const short = z
  .string()
  .transform((text) => text.slice(0, 200))
  .catch("");

const element = {
  /** The element's own while its document is there. */
  field: z.string().max(100),
  tag: short,
  role: short.nullable(),
  name: short,
  type: short.nullable(),
  secret: z.boolean(),
  selectors: z
    .array(
      z.object({
        by: z.enum(SELECTOR_KINDS),
        selector: z.string().min(1).max(4_096),
        matches: z.int().min(1),
      }),
    )
    .min(1)
    .max(20),
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
