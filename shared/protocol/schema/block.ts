import { z } from "@hono/zod-openapi";
import { canonicalHost } from "../../kit/host-name.ts";

/** Requests that a browser does not make (rules/browser-options#blocking). */

/** Chromium's kinds of requests, but for documents and WebSockets. */
const BLOCKABLE_TYPES = [
  "stylesheet",
  "image",
  "media",
  "font",
  "script",
  "texttrack",
  "xhr",
  "fetch",
  "prefetch",
  "eventsource",
  "manifest",
  "ping",
  "other",
] as const;

const MAX_HOSTS = 1_000;
const MAX_PATTERNS = 200;
const MAX_PATTERN = 1_000;

export const Block = z
  .strictObject({
    ads: z.boolean().optional().meta({
      description:
        "True: requests to hosts of advertising and analytics, from pages that are not theirs.",
    }),
    types: z
      .array(z.enum(BLOCKABLE_TYPES))
      .max(BLOCKABLE_TYPES.length)
      .optional()
      .meta({ description: "Kinds of requests, such as image, media and font." }),
    hosts: z
      .array(
        z
          .string()
          .max(253)
          .refine((host) => canonicalHost(host) === host, {
            error: "must be a host name as URLs have it, such as ads.example.com",
          }),
      )
      .max(MAX_HOSTS)
      .optional()
      .meta({ description: "Hosts, with everything below them." }),
    patterns: z
      .array(z.string().min(1).max(MAX_PATTERN))
      .max(MAX_PATTERNS)
      .optional()
      .meta({ description: "Whole URLs, in which * stands for any characters." }),
  })
  .openapi("Block");
export type Block = z.infer<typeof Block>;

/** Why a request was not made. */
const BLOCK_REASONS = ["types", "hosts", "patterns", "ads"] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];

/** What was not requested. */
export const BlockedReport = z
  .object({
    requests: z.int().meta({ description: "All that were blocked." }),
    by: z
      .partialRecord(z.enum(BLOCK_REASONS), z.int())
      .meta({ description: "The same by the first rule that fits, in the order of this list." }),
    bytes_saved: z.int().meta({
      description:
        "An estimate: what answers of the same kinds have taken on the network on average, on this worker so far.",
    }),
  })
  .openapi("BlockedReport");
export type BlockedReport = z.infer<typeof BlockedReport>;
