import { z } from "@hono/zod-openapi";

/**
 * Who answers a page's alert, confirm, prompt or beforeunload while no CDP client has enabled `Page` on it. `wait`: the
 * person at the viewer or the action `dialog`, for DIALOG_WAIT_S at most, then it is dismissed. `dismiss`, `accept`:
 * immediately. A beforeunload that is not waited for is accepted, so that pages can be left.
 */
export const DialogPolicy = z.enum(["wait", "dismiss", "accept"]);
export type DialogPolicy = z.infer<typeof DialogPolicy>;

/** A dialog that a page has opened and nobody has answered; the page is blocked meanwhile. Times ISO 8601 UTC. */
export const Dialog = z
  .object({
    dialog_id: z.string(),
    type: z.enum(["alert", "confirm", "prompt", "beforeunload"]),
    message: z.string(),
    /** Initial text of a prompt's field. */
    default_prompt: z.string(),
    /** URL of the page that asks. */
    url: z.string(),
    /** Whether its tab is the one that actions go to. */
    active: z.boolean(),
    opened_at: z.string(),
    /** When it is dismissed unless somebody answers; null while a CDP client has it. */
    closes_at: z.string().nullable(),
  })
  .openapi("Dialog");
export type Dialog = z.infer<typeof Dialog>;
