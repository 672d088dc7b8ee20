import { z } from "@hono/zod-openapi";
import { Dialog } from "../schema/dialog.ts";
import { Picture, SessionFile, Tab } from "../schema/session.ts";

/** Building blocks for the results of several actions. */

export const nothing = z.null();

/** What a gesture comes to that opens a dialog which waits for an answer. */
const opened = z.object({ dialog: Dialog });
/** A gesture with nothing to tell. */
export const gesture = z.union([opened, nothing]);
export const gestureFor = <S extends z.ZodType>(result: S) => z.union([opened, result]);

/** Where a navigation came to: the status of the answer, null when no request was made. */
export const gone = z.object({ status: z.int().nullable() });
/** Where the page, or the frame, is scrolled to, in CSS pixels. */
export const scrolled = z.object({ x: z.number(), y: z.number() });
export const plain_text = z.string();
export const links = z.array(z.object({ href: z.string(), text: z.string() }));
/** `next_line` is the `from_line` of the next piece, null after the last. */
export const aria_piece = z.object({
  snapshot: z.string(),
  lines: z.int(),
  next_line: z.int().nullable(),
});
export const picture_bytes = Picture;

export const tab = Tab;
export const tabs = z.array(Tab);
export const dialog = Dialog;
export const dialogs = z.array(Dialog);
export const download = SessionFile.omit({ created_at: true, href: true });
export const downloads = z.array(download);
export const downloaded = z.object({
  name: z.string(),
  mime: z.string(),
  size: z.int(),
  content_base64: z.string(),
});

/** `idle_ttl_s` is null where the session does not end for being idle. */
export const kept = z.object({ idle_ttl_s: z.number().nullable(), expires_at: z.string() });
