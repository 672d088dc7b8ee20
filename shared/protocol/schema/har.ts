import { z } from "@hono/zod-openapi";

const Pair = z.looseObject({ name: z.string(), value: z.string() });

/** Milliseconds; -1 for what did not take place. */
const HarTimings = z.looseObject({
  blocked: z.number(),
  dns: z.number(),
  connect: z.number(),
  ssl: z.number(),
  send: z.number(),
  wait: z.number(),
  receive: z.number(),
});

/** One request and what was answered (rules/documents#har). */
export const HarEntry = z
  .looseObject({
    startedDateTime: z.string(),
    time: z.number(),
    request: z.looseObject({
      method: z.string(),
      url: z.string(),
      httpVersion: z.string(),
      headers: z.array(Pair),
      _bodyDigest: z.string().optional().meta({
        description: "Tells the bodies that were sent to one URL apart: 16 bits of a hash",
      }),
    }),
    response: z.looseObject({
      status: z.number(),
      statusText: z.string(),
      httpVersion: z.string(),
      headers: z.array(Pair),
      content: z.looseObject({
        size: z.number(),
        mimeType: z.string(),
        _body: z.string().optional().meta({
          description: "Of a session with capture: the sha256 by which its body can be read",
        }),
        _body_missing: z.string().optional().meta({
          description: "Of a session with capture: why its body was not kept",
        }),
        _asset: z.string().optional().meta({ description: "The asset that has its body" }),
      }),
      redirectURL: z.string(),
      bodySize: z.number(),
    }),
    timings: HarTimings,
    serverIPAddress: z.string().optional(),
    _resourceType: z.string().optional(),
    _fromCache: z.boolean().optional(),
    _fromServiceWorker: z.boolean().optional(),
    _error: z
      .string()
      .optional()
      .meta({ description: "Why there is no answer, or only part of one" }),
    _n: z
      .int()
      .optional()
      .meta({ description: "Of a session: the number of the request, in the order they began" }),
    _at_ms: z
      .int()
      .optional()
      .meta({ description: "Of a session: when it began, in milliseconds of its recording" }),
  })
  .openapi("HarEntry");
export type HarEntry = z.infer<typeof HarEntry>;

/** What a page requested, as HAR 1.2 says it. */
export const Har = z
  .object({
    log: z.looseObject({
      version: z.literal("1.2"),
      entries: z.array(HarEntry),
      _dropped: z.int().optional().meta({ description: "Requests beyond the bound" }),
      _ms: z
        .int()
        .optional()
        .meta({ description: "Of a session: the moment of its recording up to which this goes" }),
    }),
  })
  .openapi("Har");
export type Har = z.infer<typeof Har>;
