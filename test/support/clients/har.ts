import { z } from "zod";

const Pair = z.strictObject({ name: z.string(), value: z.string() });
const Cookie = Pair.extend({
  path: z.string().optional(),
  domain: z.string().optional(),
  expires: z.string().optional(),
  httpOnly: z.boolean().optional(),
  secure: z.boolean().optional(),
});
const millis = z.number().min(0);
const orMinusOne = z.union([millis, z.literal(-1)]);
const size = z.union([z.int().min(0), z.literal(-1)]);
const Message = {
  httpVersion: z.string(),
  headers: z.array(Pair),
  headersSize: size,
  bodySize: size,
};

/** HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/): every member it demands, own ones only with `_`. */
const HarEntry = z.looseObject({
  pageref: z.string().optional(),
  startedDateTime: z.iso.datetime(),
  time: millis,
  request: z.strictObject({
    method: z.string().min(1),
    url: z.url(),
    cookies: z.array(Cookie),
    queryString: z.array(Pair),
    _bodyDigest: z.string().optional(),
    ...Message,
  }),
  response: z.strictObject({
    status: z.int().min(0),
    statusText: z.string(),
    cookies: z.array(Cookie),
    content: z.strictObject({
      size: z.int().min(0),
      mimeType: z.string().min(1),
      _asset: z.string().optional(),
      _body: z.string().optional(),
      _body_missing: z.string().optional(),
    }),
    redirectURL: z.string(),
    ...Message,
  }),
  cache: z.strictObject({}),
  timings: z.strictObject({
    blocked: orMinusOne,
    dns: orMinusOne,
    connect: orMinusOne,
    ssl: orMinusOne,
    send: millis,
    wait: millis,
    receive: millis,
  }),
  serverIPAddress: z.union([z.ipv4(), z.ipv6()]).optional(),
  connection: z.string().optional(),
});
const STANDARD = Object.keys(HarEntry.shape);

export const Har = z.strictObject({
  log: z.strictObject({
    version: z.literal("1.2"),
    creator: z.strictObject({ name: z.string(), version: z.string() }),
    browser: z.strictObject({ name: z.string(), version: z.string() }),
    pages: z.array(
      z.strictObject({
        startedDateTime: z.iso.datetime(),
        id: z.string(),
        title: z.string(),
        pageTimings: z.strictObject({ onContentLoad: orMinusOne, onLoad: orMinusOne }),
      }),
    ),
    entries: z.array(
      HarEntry.refine((entry) =>
        Object.keys(entry).every((key) => key.startsWith("_") || STANDARD.includes(key)),
      ),
    ),
    _dropped: z.int().optional(),
    _ms: z.int().optional(),
  }),
});
export type Har = z.infer<typeof Har>;
