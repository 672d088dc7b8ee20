import { z } from "@hono/zod-openapi";
import { isoTime } from "#shared/kit/clock.ts";
import { conflict, notFound } from "#shared/kit/errors.ts";
import {
  PutSavedList,
  SavedList,
  SavedListName,
  SavedListPage,
  SavedLists,
} from "#shared/protocol/schema/saved-list.ts";
import type { PlatformContext } from "../context.ts";
import type { SavedListRow, SavedListsRepo } from "../db/saved-lists.ts";
import { nameOf } from "../http/caller.ts";
import { createRoute } from "../http/create-route.ts";
import { jsonBodyLimit } from "../http/guards.ts";
import { newApp } from "../http/new-app.ts";
import { fails, json, ok } from "../http/openapi-parts.ts";

/** On all pages together (rules/saved-lists#what-a-saved-list-is). */
const MAX_SAVED_LISTS = 500;

const tags = ["saved lists"];
const PATH = "/api/v1/saved-lists/{page}/{name}";
const Params = z.object({
  page: SavedListPage.openapi({ param: { name: "page", in: "path" }, example: "jobs" }),
  name: SavedListName.openapi({ param: { name: "name", in: "path" }, example: "Failed today" }),
});

const list = createRoute({
  method: "get",
  path: "/api/v1/saved-lists",
  access: "view",
  tags,
  operationId: "listSavedLists",
  summary: "List the saved lists, of one page or of all",
  description: "By page and name.",
  request: { query: z.object({ page: SavedListPage.optional() }) },
  responses: { ...ok(SavedLists), ...fails(422, 503) },
});
const put = createRoute({
  method: "put",
  path: PATH,
  access: "submit",
  changes: ["v1/saved-lists"],
  tags,
  operationId: "putSavedList",
  summary: "Save a list with its filters under a name, for everybody",
  description:
    "`filters` are those in the address of the list's page. One of this name is replaced; who saved it first stays. 409 when there are 500.",
  middleware: [jsonBodyLimit],
  request: { params: Params, ...json(PutSavedList, { filters: { status: "failed" } }) },
  responses: { ...ok(SavedList), ...fails(400, 409, 413, 415, 422, 503) },
});
const remove = createRoute({
  method: "delete",
  path: PATH,
  access: "submit",
  changes: ["v1/saved-lists"],
  tags,
  operationId: "deleteSavedList",
  summary: "Forget a saved list",
  description: "Jobs, runs and what else it listed stay.",
  request: { params: Params },
  responses: { 204: { description: "Forgotten" }, ...fails(404, 422, 503) },
});

const record = (row: SavedListRow): z.infer<typeof SavedList> => ({
  ...row,
  page: SavedListPage.parse(row.page),
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
});

/** Saved lists, of hub and control plane alike (rules/saved-lists#calls). */
export const savedListRoutes = ({
  db,
  clock,
}: Pick<PlatformContext, "clock"> & { db: { saved_lists: SavedListsRepo } }) =>
  newApp()
    .openapi(list, async (c) => {
      const rows = await db.saved_lists.list(c.req.valid("query").page);
      const known = rows.filter(({ page }) => SavedListPage.safeParse(page).success);
      return c.json({ saved_lists: known.map(record) }, 200);
    })
    .openapi(put, async (c) => {
      const { page, name } = c.req.valid("param");
      const { filters } = c.req.valid("json");
      const there = await db.saved_lists.list(page);
      const is_new = !there.some((row) => row.name === name);
      if (is_new && (await db.saved_lists.count()) >= MAX_SAVED_LISTS)
        throw conflict(`there are ${MAX_SAVED_LISTS} saved lists; delete one first`);
      const now = clock.now();
      const saved_by = nameOf(c.var.caller);
      const row = { page, name, filters, saved_by, created_at: now, updated_at: now };
      return c.json(record(await db.saved_lists.put(row)), 200);
    })
    .openapi(remove, async (c) => {
      const { page, name } = c.req.valid("param");
      if (!(await db.saved_lists.delete(page, name))) throw notFound("saved list");
      return c.body(null, 204);
    });
