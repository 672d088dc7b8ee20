import { z } from "@hono/zod-openapi";
import { MAX_RECIPE_ACTIONS, MAX_URL_LENGTH } from "../limits.ts";

/** How a selector names its element, the most lasting first (rules/recorded-input#selectors-of-an-element). */
export const SELECTOR_KINDS = [
  "role",
  "label",
  "test_id",
  "placeholder",
  "alt",
  "title",
  "text",
  "css",
  "given",
] as const;

const MAX_SELECTOR = 4_096;
const MAX_NAME = 200;
/** Longer texts are cut: no step of a person has so much. */
const MAX_TYPED = 10_000;
/** How many of an element's iframes, from outside in. */
const MAX_FRAMES = 10;
/** Boxes of one selector; it may match more. */
export const MAX_BOXES = 50;

const selector = z.string().min(1).max(MAX_SELECTOR);
const name = z.string().max(MAX_NAME);
const size = z.number().min(-1_000_000).max(1_000_000);
/** In pixels of the picture. */
const PickBox = z.object({ x: size, y: size, width: size, height: size });
export type PickBox = z.infer<typeof PickBox>;

/** One way to name an element. `matches`: how many elements of its frame it names now. */
const ElementSelector = z.object({
  by: z.enum(SELECTOR_KINDS),
  selector,
  matches: z.int().min(0),
});
export type ElementSelector = z.infer<typeof ElementSelector>;

/** The same with where its elements are on the picture; outer parts of the list when there are many. */
const PickedSelector = ElementSelector.extend({ boxes: z.array(PickBox).max(MAX_BOXES) });

/** What the action `pick` answers (rules/session-actions#pick). Names and texts are the page's: not to be trusted. */
export const Picked = z.object({
  element: z
    .object({
      tag: name,
      role: name.nullable(),
      name,
      /** Of an input. */
      type: name.nullable(),
      /** What is entered there is never recorded. */
      secret: z.boolean(),
      box: PickBox,
    })
    .nullable(),
  /** Selectors of the iframes that it is in, from outside in. */
  frame: z.array(selector).max(MAX_FRAMES),
  selectors: z.array(PickedSelector).max(20),
});
export type Picked = z.infer<typeof Picked>;

const step = <K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.object({
    kind: z.literal(kind),
    /** The step's own while the recording goes on. */
    id: z.int(),
    /** Which tab, in the order in which they were opened. */
    tab: z.int().min(0),
    /** The address of the page, without its query. */
    page: z.string().max(MAX_URL_LENGTH),
    ...shape,
  });

/** What most steps are done to. */
const element = {
  role: name.nullable(),
  name,
  selectors: z.array(ElementSelector).min(1).max(20),
  frame: z.array(selector).max(MAX_FRAMES),
};

/** The variable that stands for a secret, and the host that it belongs to. */
const Secret = z.object({ variable: name, host: z.string().max(253) });

/**
 * One step of a person or of a program (rules/recorded-input#the-steps). What was entered into a secret field is in none of
 * them: `secret` names the placeholder that stands for it, and the host that it belongs to.
 */
export const RecordedStep = z
  .discriminatedUnion("kind", [
    step("navigate", {
      url: z.string().max(MAX_URL_LENGTH),
      /** Whose placeholders are values of parameters in it. */
      secrets: z.array(Secret).max(20).optional(),
    }),
    step("click", { ...element, click_count: z.int().min(1).max(3) }),
    step("fill", {
      ...element,
      text: z.string().max(MAX_TYPED),
      secret: Secret.nullable(),
    }),
    step("select_option", { ...element, values: z.array(z.string().max(MAX_NAME)).max(100) }),
    step("check", element),
    step("uncheck", element),
    step("press", { ...element, key: z.string().max(100) }),
    step("upload", { ...element, files: z.array(z.string().max(255)).max(100) }),
    step("scroll", { amount: z.number().min(-1e7).max(1e7) }),
    step("tab", {
      opened_by: z.enum(["page", "person"]),
      /** The step by which a page opened it; null: none did. Absent: a worker of an earlier version. */
      opener_step: z.int().nullable().optional(),
      /** Tabs with steps that were closed since the last change of the tab. Absent: none. */
      closed: z.array(z.int().min(0)).max(MAX_RECIPE_ACTIONS).optional(),
    }),
  ])
  .openapi("RecordedStep");
export type RecordedStep = z.infer<typeof RecordedStep>;
export type StepKind = RecordedStep["kind"];

/** Body of POST /sessions/{sid}/record-input. */
export const RecordInput = z.strictObject({ on: z.boolean() }).openapi("RecordInput");

export type RecordInput = z.infer<typeof RecordInput>;

/** How long GET may wait for something new. */
export const MAX_RECORD_WAIT_S = 20;

/** Arguments of a worker's call `recorded_input`. */
export const RecordedInputCall = z.object({
  revision: z.int().min(-1).catch(-1),
  wait_ms: z
    .number()
    .min(0)
    .max(MAX_RECORD_WAIT_S * 1_000)
    .catch(0),
});

/**
 * What was recorded (rules/recorded-input). `revision` grows with every change; `full`: further steps are left out; `ended`:
 * why the recording stopped by itself.
 */
export const RecordedInput = z
  .object({
    on: z.boolean(),
    revision: z.int(),
    steps: z.array(RecordedStep).max(MAX_RECIPE_ACTIONS),
    full: z.boolean(),
    ended: z.string().max(1_000).nullable(),
  })
  .openapi("RecordedInput");
export type RecordedInput = z.infer<typeof RecordedInput>;
