import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  MAX_RECORD_WAIT_S,
  RecordedInput,
  RecordInput,
} from "#shared/protocol/schema/recorded-input.ts";
import type { FleetContext } from "../context.ts";
import { readRecordedInput, recordInput } from "../sessions/record-input.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SessionParams } from "./params.ts";
import { RELAYED, sessionOf } from "./session-call.ts";
import { thisSession } from "./sessions.ts";

const tags = ["sessions"];

const query = z.object({
  revision: z.coerce
    .number()
    .int()
    .min(-1)
    .openapi({ param: { name: "revision", in: "query" }, type: "integer" })
    .default(-1),
  wait_s: z.coerce
    .number()
    .min(0)
    .max(MAX_RECORD_WAIT_S)
    .openapi({ param: { name: "wait_s", in: "query" }, type: "number" })
    .default(0),
});

/** What people do in a session as steps (rules/recorded-input). */
export function sessionRecordInputRoutes(ctx: FleetContext) {
  const record = createRoute({
    method: "post",
    path: "/sessions/{sid}/record-input",
    owner: "session",
    tags,
    operationId: "recordSessionInput",
    summary: "Record what people do as steps, or stop",
    description:
      "While it is on, clicks, entries, choices and keys become steps that a recipe or a script can repeat. What is entered into secret fields is never among them.",
    access: "operate",
    changes: ["sessions"],
    middleware: [jsonBodyLimit, idempotent(ctx), thisSession(ctx)],
    request: {
      params: SessionParams,
      ...json(RecordInput, { on: true }),
      headers: IdempotencyHeader,
    },
    responses: { ...ok(RecordedInput), ...fails(400, 409, 413, 415, ...RELAYED) },
  });
  const recorded = createRoute({
    method: "get",
    path: "/sessions/{sid}/record-input",
    owner: "session",
    tags,
    operationId: "getSessionInput",
    summary: "Read the recorded steps",
    description:
      "With `wait_s`, once there are others than in `revision`, or after that time. The steps stay after the recording was stopped, until the next one begins.",
    access: "view",
    request: { params: SessionParams, query },
    responses: { ...ok(RecordedInput), ...fails(...RELAYED) },
  });
  return newApp()
    .openapi(record, async (c) =>
      c.json(await recordInput(ctx, sessionOf(ctx, c), c.req.valid("json")), 200),
    )
    .openapi(recorded, async (c) => {
      // It may wait for as long as Bun lets a connection be quiet.
      c.env.server?.timeout(c.req.raw, 0);
      return c.json(await readRecordedInput(ctx, sessionOf(ctx, c), c.req.valid("query")), 200);
    });
}
