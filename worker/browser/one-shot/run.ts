import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import {
  ONE_SHOTS,
  type OneShotCall,
  type OneShotCalls,
  type OneShotKind,
  type OneShotResult,
  OneShotWish,
} from "#shared/protocol/schema/one-shot.ts";
import type { PageActions } from "../actions/context.ts";
import { ActionFailure } from "../actions/failure.ts";
import { type Body, jsonBody, resultOf, textBody } from "./answer.ts";
import { openPage } from "./open-page.ts";
import { takePicture } from "./picture.ts";
import { scrape } from "./scrape.ts";
import { placeOf, type Shot, type ShotDeps, startShot } from "./shot.ts";
import { waitForAll } from "./waits.ts";

export interface OneShotDeps extends ShotDeps {
  /** Keeps an answer for the bridge and returns its id. */
  putBlob(bytes: string | Uint8Array, mime: string): string;
}

/** Those of the call's fields that the action of the same name takes. */
function argsOf(action: Exclude<OneShotKind, "scrape">, call: OneShotCall): never {
  const names = Object.keys(SESSION_ACTIONS[action].args.shape);
  const given = Object.entries(call).filter(
    ([name]) => name !== "timeout_s" && names.includes(name),
  );
  return Object.fromEntries(given) as never;
}

type Take = (shot: Shot, status: number | null, as_json: boolean) => Promise<Body>;

/** The action of the same name is the whole answer, or a field of it. */
const actionAs =
  (
    action: Exclude<OneShotKind, "scrape"> & keyof PageActions,
    bodyOf: ((result: never) => Body) | null,
    fieldsOf: (result: never) => object,
  ): Take =>
  async (shot, status, as_json) => {
    const args = argsOf(action, shot.call);
    const taking = action === "screenshot" ? takePicture(shot, args) : shot.act(action, args);
    const result = (await taking) as never;
    if (bodyOf !== null && !as_json) return bodyOf(result);
    return jsonBody(Object.assign(await placeOf(shot), { status }, fieldsOf(result)));
  };

interface PictureResult {
  mime: string;
  content_base64: string;
}
const pictureBody = ({ mime, content_base64 }: PictureResult): Body => ({
  mime,
  bytes: Buffer.from(content_base64, "base64"),
});
const same = (result: object) => result;

const TAKE: Record<OneShotKind, Take> = {
  screenshot: actionAs("screenshot", pictureBody, same),
  pdf: actionAs("pdf", pictureBody, same),
  content: actionAs(
    "content",
    (html) => textBody("text/html", html),
    (content) => ({ content }),
  ),
  markdown: actionAs(
    "markdown",
    (text) => textBody("text/markdown", text),
    (markdown) => ({ markdown }),
  ),
  links: actionAs("links", null, (links) => ({ links })),
  evaluate: actionAs("evaluate", null, (result) => ({ result })),
  scrape: async (shot, status) =>
    jsonBody(Object.assign({ status }, await scrape(shot, shot.call as OneShotCalls["scrape"]))),
};

/** @throws ActionFailure invalid, naming the field */
function readWish(raw: Record<string, unknown>) {
  const wish = OneShotWish.parse(raw);
  const parsed = ONE_SHOTS[wish.kind].safeParse(wish.call);
  if (parsed.success) return { ...wish, call: parsed.data };
  const [issue] = parsed.error.issues;
  const message = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`;
  throw new ActionFailure("invalid", { name: "Error", message });
}

/**
 * Opens a page in a browser that nobody has used, waits, and answers what is in it (rules/one-shot-calls). Its deadline
 * is that of `acting`.
 * @throws ActionFailure, or what Playwright throws
 */
export async function runOneShot(
  raw: Record<string, unknown>,
  deps: OneShotDeps,
): Promise<OneShotResult> {
  const { kind, as_json, call, is_open } = readWish(raw);
  const shot = startShot(call, deps);
  const status = is_open ? is_open.status : await openPage(shot);
  await waitForAll(shot);
  return resultOf(status, await TAKE[kind](shot, status, as_json), deps.putBlob);
}
