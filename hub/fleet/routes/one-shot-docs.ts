import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import { ONE_SHOT_ANSWERS, ONE_SHOTS, type OneShotKind } from "#shared/protocol/schema/one-shot.ts";
import { ActionFailure } from "#shared/protocol/schema/session.ts";

/** `/links` is the address of signed links too, and described with them. */
export type DescribedKind = Exclude<OneShotKind, "links">;

const RAW = { type: "string", format: "binary" } as const;
const TEXT = { type: "string" } as const;

interface Words {
  operationId: string;
  summary: string;
  example: object;
  /** The types of its answer beside JSON. */
  types: Record<string, typeof RAW | typeof TEXT>;
}

const url = "https://example.com/";

const WORDS: Record<DescribedKind, Words> = {
  screenshot: {
    operationId: "screenshotPage",
    summary: "Open a page and answer a picture of it",
    example: { url, full_page: true },
    types: { "image/png": RAW, "image/jpeg": RAW, "image/webp": RAW },
  },
  pdf: {
    operationId: "printPage",
    summary: "Open a page and answer it as a PDF",
    example: { url, format: "A4" },
    types: { "application/pdf": RAW },
  },
  content: {
    operationId: "readPageContent",
    summary: "Open a page and answer its HTML, as its scripts have made it",
    example: { url },
    types: { "text/html": TEXT },
  },
  markdown: {
    operationId: "readPageMarkdown",
    summary: "Open a page and answer it as Markdown",
    example: { url },
    types: { "text/markdown": TEXT },
  },
  scrape: {
    operationId: "scrapePage",
    summary: "Open a page and answer its elements, or the whole of it in several formats",
    example: { url, elements: [{ selector: "h1" }], formats: ["markdown", "links"] },
    types: {},
  },
  evaluate: {
    operationId: "evaluateInPage",
    summary: "Open a page, run JavaScript in it and answer the result",
    example: { url, code: "document.title" },
    types: {},
  },
};

const DESCRIPTION =
  "On a warm lane, in a browser that nobody has used; nothing of it is stored, and it ends when its caller leaves. Waits about " +
  "8 s for a lane; after that 503. 422 with {error} when the page refused something, 504 when it took too long. The " +
  "spellings of browserless and Steel are understood (gotoOptions, waitForSelector, options, delay, …), and the token as ?token=.";
const JSON_TOO = " With `Accept: application/json` the answer is JSON.";

const OneShotQuery = z.object({
  timeout: z.string().optional().meta({
    description: "timeout_s in milliseconds, as browserless takes it.",
  }),
  blockAds: z.enum(["true", "false", ""]).optional().meta({
    description: "block.ads, as browserless takes it.",
  }),
  token: z.string().optional().meta({ description: "In the place of the header." }),
});

/** Describes one call in /openapi.json. */
export const describeOneShot = (kind: DescribedKind) => {
  const { operationId, summary, example, types } = WORDS[kind];
  const content: Record<string, { schema: unknown }> = {};
  for (const [type, schema] of Object.entries(types)) content[type] = { schema };
  content["application/json"] = { schema: ONE_SHOT_ANSWERS[kind] };
  return createRoute({
    method: "post",
    path: `/${kind}`,
    access: "submit",
    token_in_query: true,
    changes: [],
    tags: ["one-shot calls"],
    operationId,
    summary,
    description: DESCRIPTION + (Object.keys(types).length === 0 ? "" : JSON_TOO),
    request: {
      query: OneShotQuery,
      body: {
        required: true,
        content: { "application/json": { schema: ONE_SHOTS[kind], example } },
      },
    },
    responses: {
      200: { description: "Done", content: content as never },
      ...fails(400, 404, 413, 415, 502, 503, 504),
      422: {
        description: "A field breaks a rule, or the page refused something (then with {error})",
        content: { "application/json": { schema: ActionFailure } },
      },
    },
  });
};
