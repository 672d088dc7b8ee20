import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { pageOf } from "#shared/protocol/schema/page.ts";
import { PutSkill, Skill, SkillList, SkillListQuery } from "#shared/protocol/schema/skill.ts";
import type { FleetContext } from "../context.ts";
import { deleteSkill, getSkill, listSkills, putSkill } from "../registries/skills.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SlugParams } from "./params.ts";

const tags = ["skills"];
const params = SlugParams;
const headers = IdempotencyHeader;

/** Skills: pieces of script offered to the planner (rules/library#skills). */
export function skillRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const list = createRoute({
    ...{ method: "get", path: "/skills", tags },
    access: "view",
    operationId: "listSkills",
    summary: "List all skills",
    description: "By slug; `host` keeps those for a host, `tag` those that have it.",
    request: { query: SkillListQuery },
    responses: { ...ok(SkillList), ...fails(422, 503) },
  });
  const read = createRoute({
    ...{ method: "get", path: "/skills/{slug}", tags },
    access: "view",
    operationId: "getSkill",
    summary: "Read a skill",
    description: "As it was stored.",
    request: { params },
    responses: { ...ok(Skill), ...fails(404, 503) },
  });
  const put = createRoute({
    ...{ method: "put", path: "/skills/{slug}", tags, middleware },
    access: "operate",
    changes: ["skills"],
    operationId: "putSkill",
    summary: "Create or replace a skill",
    description:
      "`host_pattern` is a glob on the host name: * for any, *.example.org for those below.",
    request: {
      params,
      headers,
      ...json(PutSkill, {
        host_pattern: "*.example.org",
        code: 'await page.click("#accept");',
        tags: ["consent"],
      }),
    },
    responses: { ...ok(Skill), ...fails(400, 409, 413, 415, 422, 503) },
  });
  const remove = createRoute({
    ...{ method: "delete", path: "/skills/{slug}", tags, middleware },
    access: "operate",
    changes: ["skills"],
    operationId: "deleteSkill",
    summary: "Delete a skill",
    description: "Jobs that were already submitted do not change.",
    request: { params, headers },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const query = c.req.valid("query");
      const { page, next_cursor } = pageOf(await listSkills(ctx, query), ({ slug }) => slug, query);
      return c.json({ skills: page, next_cursor }, 200);
    })
    .openapi(read, async (c) => c.json(await getSkill(ctx, c.req.valid("param").slug), 200))
    .openapi(put, async (c) =>
      c.json(await putSkill(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(remove, async (c) => {
      await deleteSkill(ctx, c.req.valid("param").slug);
      return c.body(null, 204);
    });
}
