import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import {
  ActionFailure,
  ActionReply,
  SESSION_ACTIONS,
  type SessionActionInput,
  type SessionActionName,
} from "#shared/protocol/schema/session.ts";
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
export const describeAction = (action: SessionActionName) =>
  createRoute({
    method: "post",
    path: `/sessions/{sid}/${action}`,
    access: "operate",
    owner: "session",
    changes: ["sessions"],
    tags: ["session actions"],
    operationId: `session${pascalCase(action)}`,
    summary: SUMMARIES[action],
    description: DESCRIPTION,
    request: {
      params: SessionParams,
      headers: IdempotencyHeader,
      body: {
        required: !SESSION_ACTIONS[action].safeParse({}).success,
        content: {
          "application/json": { schema: SESSION_ACTIONS[action], example: EXAMPLES[action] },
          ...(action === "set_input_files"
            ? { "multipart/form-data": { schema: FilesForm, example: FORM } }
            : {}),
        },
      },
    },
    responses: {
      200: {
        description: isPicture(action) ? "Done; the raw bytes when Accept asks for them" : "Done",
        content: {
          "application/json": { schema: ActionReply },
          ...(isPicture(action)
            ? { "image/*": { schema: RAW }, "application/pdf": { schema: RAW } }
            : {}),
        },
      },
      ...fails(400, 404, 409, 413, 415, 502, 503, 504),
      422: {
        description: "A field breaks a rule, or the page refused the action (then with {error})",
        content: { "application/json": { schema: ActionFailure } },
      },
    },
  });

const DESCRIPTION =
  "Names and arguments are Playwright's; every action takes timeout_s, and frame (the selector of an iframe, or a list of " +
  "them from outside in) where it addresses elements. 422 with {error} when the page refused it, 504 when it took too long, " +
  "404 when the session has ended.";
const FORM = { selector: "#upload", files: ["report.pdf"] };

/** One example for each action. */
const EXAMPLES: { [A in SessionActionName]: SessionActionInput<A> } = {
  navigate: { url: "https://example.com/" },
  click: { selector: "text=More" },
  fill: { selector: "#name", text: "Ada" },
  type: { text: "hello", delay_ms: 20 },
  press: { key: "Enter" },
  hover: { selector: "#menu" },
  drag_and_drop: { source: "#card-3", target: "#done" },
  mouse: { op: "move", x: 320, y: 240, steps: 10 },
  select_option: { selector: "#size", values: ["m"] },
  check: { selector: "#agree" },
  uncheck: { selector: "#agree" },
  scroll: { amount: 800 },
  wait: { selector: "#done", state: "visible" },
  evaluate: { code: "document.title" },
  set_input_files: {
    selector: "#upload",
    files: [{ name: "a.txt", mime: "text/plain", content_base64: "aGVsbG8=" }],
  },
  screenshot: { format: "png", full_page: true },
  pdf: { format: "A4" },
  content: {},
  text: { selector: "main" },
  markdown: {},
  links: {},
  back: {},
  forward: {},
  reload: {},
  tabs: {},
  tab: { op: "select", index: 0 },
  dialogs: {},
  dialog: { op: "accept", prompt_text: "Ada" },
  downloads: {},
  read_download: { name: "report.csv" },
  keepalive: { idle_ttl_s: 900 },
  recipe: { actions: [{ kind: "click", selector: "h1" }] },
  ask: { prompt: "What does the cheapest one cost?" },
  agent: { goal: "Sign in as demo and read the balance", max_steps: 10 },
};

const SUMMARIES: Record<SessionActionName, string> = {
  navigate: "Go to a URL",
  click: "Click an element, or a point of the page",
  fill: "Set the text of a field",
  type: "Send keys, one by one",
  press: "Press one key or a combination",
  hover: "Move the pointer over an element",
  drag_and_drop: "Drag one element onto another",
  mouse: "Move the pointer, press or release a button",
  select_option: "Select options of a list",
  check: "Tick a checkbox",
  uncheck: "Untick a checkbox",
  scroll: "Scroll by pixels, or to an element",
  wait: "Wait for an element, a load state or a length of time",
  evaluate: "Run JavaScript in the page",
  set_input_files: "Give files to an input; up to 100 MB as multipart/form-data",
  screenshot: "Take a screenshot of the page or an element",
  pdf: "Print the page (headless sessions)",
  content: "Read the HTML",
  text: "Read the visible text",
  markdown: "Read the page as Markdown",
  links: "List the links",
  back: "Go back",
  forward: "Go forward",
  reload: "Reload",
  tabs: "List the tabs",
  tab: "Open, close or select a tab",
  dialogs: "List the dialogs that pages have opened",
  dialog: "Accept or dismiss a dialog",
  downloads: "List what the browser downloaded",
  read_download: "Read a downloaded file, once it is whole",
  keepalive: "Count as activity; can set the idle TTL",
  recipe: "Run the actions of a recipe",
  ask: "Ask an engine about the page",
  agent: "Let an engine work towards a goal, step by step",
};

export const isPicture = (action: string): boolean => action === "screenshot" || action === "pdf";
