import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { wantsPage } from "#hub/platform/http/wants-page.ts";
import { AppError } from "#shared/kit/errors.ts";
import { withScheme } from "#shared/protocol/missing-scheme.ts";
import { TooBusy } from "#shared/protocol/schema/error.ts";
import { Job, SubmitJob, TargetUrl } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { submitJob } from "../jobs/submit.ts";
import { withPreset } from "../registries/presets.ts";
import { SlugParams } from "./params.ts";

const submitByPath = createRoute({
  method: "get",
  path: "/{target_url}",
  access: "submit",
  by_visit: /^(\/presets\/[^/]+)?\/+[a-z][a-z0-9+.-]*(:|%3a)/i,
  new_work: true,
  changes: ["jobs"],
  tags: ["jobs"],
  operationId: "submitUrl",
  summary: "Submit the URL given as the path, with default options",
  description:
    "The path is the target URL as it is, or percent-encoded: /https://example.org/a?b=1. A path whose // was folded " +
    "to / is understood. With Accept: text/html the answer redirects to the job's page.",
  request: {
    params: z.object({
      target_url: z.string().openapi({
        param: { name: "target_url", in: "path" },
        example: "https://example.org/",
      }),
    }),
  },
  responses: {
    ...ok(Job, "The job"),
    303: { description: "To the job's page (Accept: text/html)" },
    ...fails(403, 404, 422),
    503: {
      description: "The fleet is at capacity; the job stays queued",
      content: { "application/json": { schema: TooBusy } },
    },
  },
});

const submitWithPreset = createRoute({
  ...submitByPath,
  ...submitByPath.rules,
  path: "/presets/{slug}/{target_url}",
  operationId: "submitUrlWithPreset",
  summary: "Submit the URL that follows, with the options of a preset",
  description: "As /{target_url}: /presets/long-page/https://example.org/a?b=1.",
  request: { params: SlugParams.extend(submitByPath.request.params.shape) },
});

const SCHEME = /^\/+([a-z][a-z0-9+.-]*)(:|%3a)/i;

/**
 * The URL in a request line's path and query, or null when there is none. `//` may have been folded to `/` on the way,
 * and clients may have encoded the whole URL. Everything else stays as it was sent.
 */
function targetOf(path_and_query: string): string | null {
  if (!SCHEME.test(path_and_query)) return null;
  let target = path_and_query.replace(/^\/+/, "");
  if (/^[a-z][a-z0-9+.-]*%3a/i.test(target)) {
    const [path = "", ...query] = target.split("?");
    try {
      target = [decodeURIComponent(path), ...query].join("?");
    } catch {
      return target;
    }
  }
  return target.replace(/^(https?):\/*(?=[^/])/i, "$1://");
}

/** `/presets/<slug>` in front of the URL, if it is there. */
function splitPreset(path_and_query: string): { preset: string | null; rest: string } {
  const found = /^\/presets\/([^/?]+)(\/+[a-z][a-z0-9+.-]*(:|%3a).*)$/is.exec(path_and_query);
  return { preset: found?.[1] ?? null, rest: found?.[2] ?? path_and_query };
}

/** For callers who left out the scheme of their URL. */
function noSuchPath(path_and_query: string): string {
  const place = path_and_query.replace(/^\/+/, "");
  return withScheme(place) === null
    ? "no such path"
    : `no such path; to submit a URL, begin with its scheme: /https://${place} or /http://${place}`;
}

/** GET /{target_url} (rules/jobs#submit-by-path). Registered last: every other path comes first. */
export function submitByPathRoutes(ctx: FleetContext) {
  const submit = async (c: Context<HttpEnv>): Promise<Response> => {
    const { pathname, search } = splitUrl(c.req.url);
    const { preset, rest } = splitPreset(pathname + search);
    const target = targetOf(rest);
    if (target === null || c.req.method === "HEAD")
      throw new AppError("not_found", noSuchPath(rest));
    const url = TargetUrl.safeParse(target);
    if (!url.success)
      throw new AppError("invalid", toIssues(url.error.issues, "path", "target_url"));
    const options = preset === null ? {} : await withPreset(ctx, preset, {}, ["path", "slug"]);
    const parsed = SubmitJob.safeParse({ url: url.data, options });
    if (!parsed.success) throw new AppError("invalid", toIssues(parsed.error.issues, "preset"));
    const input = parsed.data;
    if (!wantsPage(c)) return c.json(await submitJob(ctx, input), 200);
    const { job_id } = await submitJob(ctx, input, { wait: false });
    return c.redirect(`/ui/captures/${job_id}`, 303);
  };
  const app = newApp();
  describeRoute(app, submitByPath);
  describeRoute(app, submitWithPreset);
  app.get("*", access(submitByPath.rules), submit);
  return app;
}

/** Path and query as they were sent: `URL` would normalise the target. */
function splitUrl(url: string): { pathname: string; search: string } {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const rest = start === -1 ? "/" : url.slice(start);
  const query = rest.indexOf("?");
  return query === -1
    ? { pathname: rest, search: "" }
    : { pathname: rest.slice(0, query), search: rest.slice(query) };
}
