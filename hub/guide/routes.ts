import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { isHeld } from "#hub/platform/http/if-none-match.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, NOT_MODIFIED, streamed } from "#hub/platform/http/openapi-parts.ts";
import { wantsPage } from "#hub/platform/http/wants-page.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import colors from "./assets/colors.js" with { type: "text" };
import frame_style from "./assets/frame.css" with { type: "text" };
import script from "./assets/guide.js" with { type: "text" };
import text_style from "./assets/text.css" with { type: "text" };
import { type Guide, readGuidePages } from "./contents.ts";
import { guideFiles } from "./guide-files.ts";
import { createSearch, type Found, type GuideSearch, MAX_QUERY } from "./guide-search.ts";
import { GUIDE_POLICY } from "./layout.ts";
import { llmsText } from "./llms-text.ts";
import { contentsView, missingView, pageView, searchView } from "./views.ts";

type C = Context<HttpEnv>;

const tags = ["guide"];
const text = (schema: z.ZodType = z.string()) => ({ schema });

const contents = createRoute({
  method: "get",
  path: "/guide",
  access: "public",
  tags,
  operationId: "getGuide",
  summary: "The guide",
  description:
    "Its table of contents. Pages lie below, as HTML at /guide/start/install and as Markdown at /guide/start/install.md. " +
    "Open without a token: it is the same on every server of this version.",
  responses: {
    200: { description: "A page", content: { "text/html": text() } },
    ...NOT_MODIFIED,
  },
});
const FoundInGuide = z
  .object({
    query: z.string(),
    results: z.array(
      z.object({
        title: z.string().openapi({ description: "Of the heading" }),
        page: z.string().openapi({ description: "Title of its page" }),
        url: z.string().openapi({ description: "Path and anchor at this server" }),
        excerpt: z.string(),
      }),
    ),
  })
  .openapi("GuideSearch");
const search = createRoute({
  method: "get",
  path: "/guide/search",
  access: "public",
  tags,
  operationId: "searchGuide",
  summary: "Search the guide",
  description:
    "The headings that have all words of the query in them or in the text below, best first, 20 at most. A word finds those that " +
    "begin with it. Where nothing has all words, misspelt words and single words are tried. With Accept: text/html it is a page.",
  request: {
    query: z.object({
      q: z.string().trim().max(MAX_QUERY).default("").openapi({ example: "lease" }),
    }),
  },
  responses: {
    200: {
      description: "What was found, best first",
      content: { "application/json": text(FoundInGuide), "text/html": text() },
    },
    304: { description: "The client has the page" },
    ...fails(422),
  },
});
const llms = createRoute({
  method: "get",
  path: "/llms.txt",
  access: "public",
  tags,
  operationId: "getGuideForModels",
  summary: "The guide's pages for language models",
  description:
    "In the form of llmstxt.org: a title, a summary, and a link to the Markdown of each page.",
  responses: {
    200: { description: "Markdown", content: { "text/plain": text() } },
    ...NOT_MODIFIED,
  },
});

const PUBLIC = access({ access: "public" });
const SCRIPT_TYPE = "text/javascript; charset=utf-8";
const ASSETS = new Map([
  ["guide.css", { body: text_style + frame_style, type: "text/css; charset=utf-8" }],
  ["guide.js", { body: script, type: SCRIPT_TYPE }],
  ["colors.js", { body: colors, type: SCRIPT_TYPE }],
]);
const PAGE_TYPE = "text/html; charset=utf-8";
const MARKDOWN_TYPE = "text/markdown; charset=utf-8";

interface Opened extends Guide {
  find(query: string): Promise<Found[]>;
}

/** Reads the guide at the first request; the index of its words is made at the first search. */
function openedOnce(version: string): () => Promise<Opened> {
  let opened: Promise<Opened> | undefined;
  const open = async (): Promise<Opened> => {
    const guide = readGuidePages(await guideFiles());
    let search: Promise<GuideSearch> | undefined;
    return {
      ...guide,
      // Another version may show the same files in another way.
      tag: `${version}-${guide.tag}`,
      find: async (query) => {
        search ??= createSearch(guide);
        return (await search).find(query);
      },
    };
  };
  return () => {
    opened ??= open();
    return opened;
  };
}

/** What `/guide` and all below it answer with; one tag holds for all, because every page shows the list of all pages. */
function answer(c: C, tag: string, type: string, body: () => string, status: 200 | 404 = 200) {
  const headers = {
    ETag: `"${tag}"`,
    "Cache-Control": "no-cache",
    "Content-Type": type,
    "X-Content-Type-Options": "nosniff",
    ...(type === PAGE_TYPE && {
      "Content-Security-Policy": GUIDE_POLICY,
      "Referrer-Policy": "no-referrer",
      // A page and what a program gets lie at one address.
      Vary: "Accept",
    }),
  };
  if (status === 200 && isHeld(c, headers.ETag)) return c.body(null, 304, headers);
  const text = body();
  // Said here, or a HEAD would be told of nothing.
  return c.body(text, status, { ...headers, "Content-Length": String(Buffer.byteLength(text)) });
}

/** The guide: pages, their text, a search, and what language models ask for. It holds no secrets and needs no token. */
export function guideRoutes({ version }: { version: string }) {
  const guideOf = openedOnce(version);
  const app = newApp();
  describeRoute(app, contents);
  app.get("/guide", access(contents.rules), async (c) => {
    const guide = await guideOf();
    return answer(c, guide.tag, PAGE_TYPE, () => String(contentsView(guide)));
  });
  app.openapi(search, async (c) => {
    const guide = await guideOf();
    const { q } = c.req.valid("query");
    const results = q === "" ? [] : await guide.find(q);
    if (wantsPage(c))
      return streamed(answer(c, guide.tag, PAGE_TYPE, () => String(searchView(guide, q, results))));
    const told = results.map(({ terms: _, ...found }) => found);
    return c.json({ query: q, results: told }, 200, {
      Vary: "Accept",
      "Cache-Control": "no-cache",
    });
  });
  app.get("/guide/assets/:name", PUBLIC, (c) => {
    const asset = ASSETS.get(c.req.param("name"));
    if (asset === undefined) throw notFound("file");
    return answer(c, version, asset.type, () => asset.body);
  });
  app.get("/guide/*", PUBLIC, async (c) => {
    const guide = await guideOf();
    const path = c.req.path.slice("/guide/".length).replace(/\/+$/, "");
    const markdown = guide.files.get(path);
    if (markdown !== undefined) return answer(c, guide.tag, MARKDOWN_TYPE, () => markdown);
    const page = guide.pages.find((one) => one.path === `${path}.md`);
    if (page !== undefined && !c.req.path.endsWith("/"))
      return answer(c, guide.tag, PAGE_TYPE, () => String(pageView(guide, page)));
    return elsewhere(c, guide, path);
  });
  describeRoute(app, llms);
  app.get("/llms.txt", access(llms.rules), async (c) => {
    const guide = await guideOf();
    return answer(c, guide.tag, "text/plain; charset=utf-8", () => llmsText(guide));
  });
  return app;
}

/** What is offered in the place of a page that is not there. */
const NEAR = 5;

/** Where a path leads to that is no page: to the page it means, or to a list of those that come close. */
async function elsewhere(c: C, guide: Opened, path: string): Promise<Response> {
  const chapter = guide.chapters.find(({ slug }) => slug === path);
  if (path === "" || path === "index") return c.redirect("/guide", 308);
  if (chapter !== undefined) return c.redirect(`/guide#${chapter.slug}`, 302);
  if (guide.pages.some((one) => one.path === `${path}.md`))
    return c.redirect(`/guide/${path}`, 308);
  if (!wantsPage(c))
    throw new AppError(
      "not_found",
      `the guide has no page ${path}; /guide and /llms.txt list every page`,
    );
  const found = await guide.find(path.replace(/\.md$/, "").slice(-MAX_QUERY));
  const near = found.slice(0, NEAR);
  return answer(c, guide.tag, PAGE_TYPE, () => String(missingView(guide, path, near)), 404);
}
