import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import {
  SESSION_ACTIONS,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import { ActionFailure, ActionReply } from "#shared/protocol/schema/session.ts";
import { IdempotencyHeader, SessionParams } from "./params.ts";

const RAW = { type: "string", format: "binary" } as const;
const FilesForm = z
  .object({
    selector: z.string(),
    timeout_s: z.string().optional(),
    files: z.array(z.string().openapi({ format: "binary" })),
  })
  .openapi("FilesForm");

const pascalCase = (name: string): string =>
  name.replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());

/** Describes one action in /openapi.json. */
export const describeAction = (action: SessionActionName) => {
  const { args, result, summary, example } = SESSION_ACTIONS[action];
  const is_picture = isPicture(action);
  return createRoute({
    method: "post",
    path: `/sessions/{sid}/${action}`,
    access: "operate",
    owner: "session",
    changes: ["sessions"],
    tags: ["session actions"],
    operationId: `session${pascalCase(action)}`,
    summary,
    description: action === "set_input_files" ? `${DESCRIPTION} ${FORM_TOO}` : DESCRIPTION,
    request: {
      params: SessionParams,
      headers: IdempotencyHeader,
      body: {
        required: !args.safeParse({}).success,
        content: {
          "application/json": { schema: args, example },
          ...(action === "set_input_files"
            ? { "multipart/form-data": { schema: FilesForm, example: FORM } }
            : {}),
        },
      },
    },
    responses: {
      200: {
        description: is_picture ? "Done; the raw bytes when Accept asks for them" : "Done",
        content: {
          "application/json": { schema: ActionReply.and(z.object({ result })) },
          ...(is_picture ? { "image/*": { schema: RAW }, "application/pdf": { schema: RAW } } : {}),
        },
      },
      ...fails(400, 404, 409, 413, 415, 502, 503, 504),
      422: {
        description: "A field breaks a rule, or the page refused the action (then with {error})",
        content: { "application/json": { schema: ActionFailure } },
      },
    },
  });
};

/** Whether its result is a picture or a document. */
export const isPicture = (action: SessionActionName): boolean =>
  "is_picture" in SESSION_ACTIONS[action];

const DESCRIPTION =
  "Names and arguments are Playwright's; every action takes timeout_s, and frame (the selector of an iframe, or a list of " +
  "them from outside in) where it addresses elements. 422 with {error} when the page refused it, 504 when it took too long, " +
  "404 when the session has ended.";
const FORM_TOO = "Files of up to 100 MB together go as multipart/form-data.";
const FORM = { selector: "#upload", files: ["report.pdf"] };
