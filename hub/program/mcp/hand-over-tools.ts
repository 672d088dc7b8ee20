import { z } from "@hono/zod-openapi";
import { type HandOver, isOver } from "./hand-overs.ts";
import { ToolRefusal } from "./refusal.ts";
import { ofPage, said } from "./results.ts";
import {
  CALL_MS,
  type Content,
  session_id,
  type Tool,
  type ToolCall,
  tool,
  wait_s,
} from "./tool.ts";

/** Asking a person for what a model cannot or should not do, such as to log in (rules/mcp#hand-over-to-a-person). */

const until_url = z
  .string()
  .min(1)
  .max(2_000)
  .optional()
  .describe("Part of the address that the page has once the person is done, such as /account");

const STATE_WORDS: Record<HandOver["state"], string> = {
  waiting: "Nobody has opened the link yet.",
  here: "The person is at the browser.",
  left: "The person has left the viewer: go on with session_snapshot.",
  expired: "The link has expired, and nobody came.",
  ended: "The session has ended.",
  forgotten: "This link is no longer watched: it was declined, or another one took its place.",
};

const isDone = ({ state, page }: HandOver, wanted: string | undefined): boolean =>
  state === "left" || (wanted !== undefined && page.url.includes(wanted));

/** Waits until the person is done, cannot be any more, or the time is over; tells the client when something changes. */
async function waitFor(
  { clock, signal, tell }: Pick<ToolCall, "clock" | "signal" | "tell">,
  hand_over: HandOver,
  wanted: string | undefined,
  wait_ms: number,
): Promise<Content[]> {
  const over = new AbortController();
  const late = clock.sleep(wait_ms, AbortSignal.any([signal, over.signal])).then(() => "late");
  let told: HandOver["state"] | null = null;
  let timed_out = false;
  try {
    while (!isDone(hand_over, wanted) && !isOver(hand_over)) {
      if (told !== hand_over.state) tell(STATE_WORDS[hand_over.state]);
      told = hand_over.state;
      const next = await Promise.race([hand_over.looked(), late]);
      timed_out = next === "late";
      if (timed_out) break;
    }
  } finally {
    over.abort();
  }
  const { state, page } = hand_over;
  const reached = wanted !== undefined && page.url.includes(wanted);
  const words = reached
    ? "Done: the page has the address that was waited for."
    : state === "left"
      ? STATE_WORDS.left
      : `Not done yet. ${STATE_WORDS[state]}${timed_out ? " Call session_wait_for_person to go on waiting." : ""}`;
  return [
    said(words),
    ofPage(`url: ${page.url.slice(0, 2_000)}\ntitle: ${JSON.stringify(page.title.slice(0, 500))}`),
  ];
}

const handOver = tool({
  name: "session_hand_over",
  title: "Ask a person to act in the browser",
  about:
    "For logins, captchas, payments and whatever a person should do or decide: creates a link at which a person sees the session's browser and takes over, without a token, until it expires. Show the link to the person, then call session_wait_for_person. Secrets that the person types stay in the browser.",
  part: "fleet",
  args: z.strictObject({
    session_id,
    reason: z.string().min(1).max(500).describe("What the person is to do, in their words"),
    expires_in_s: z.int().min(30).max(86_400).default(900).describe("How long the link is valid"),
    until_url,
    wait_s: wait_s.describe(
      "Wait this long right here, for clients that show progress or the link themselves; 0 answers the link at once",
    ),
  }),
  calls: ["POST /links", "GET /sessions/{sid}", "POST /sessions/{sid}/keepalive"],
  access: "operate",
  effect: "changes",
  run: async (call, { session_id: sid, reason, expires_in_s, until_url: wanted, wait_s: wait }) => {
    const { http, signal, hand_overs } = call;
    const of = { params: { sid }, timeout_ms: CALL_MS, signal };
    const session = await http.call("GET /sessions/{sid}", of);
    const link = await http.call("POST /links", {
      json: { kind: "viewer", id: sid, mode: "take-over", expires_in_s },
      timeout_ms: CALL_MS,
      signal,
    });
    const watched = hand_overs.begin(http, session, expires_in_s * 1_000);
    call.tell(`${reason}: ${link.url}`);
    const shown = await call.show({ url: link.url, message: reason });
    const about = said(`Link for the person, until ${link.expires_at}: ${link.url}`);
    if (shown === "decline" || shown === "cancel") {
      hand_overs.forget(sid);
      return [said("The person does not want to open the link."), about];
    }
    if (wait > 0) return [about, ...(await waitFor(call, watched, wanted, wait * 1_000))];
    const next =
      "Show it to the person with what is to be done, then call session_wait_for_person.";
    return [about, said(shown === "accept" ? "The person has accepted to open it." : next)];
  },
});

const waitForPerson = tool({
  name: "session_wait_for_person",
  title: "Wait for the person to finish",
  about:
    "After session_hand_over: waits until the person has left the viewer, or the page's address contains until_url, and says which. When the time is over it says so; call again to go on waiting.",
  part: "fleet",
  args: z.strictObject({ session_id, until_url, wait_s: wait_s.default(50) }),
  calls: ["GET /sessions/{sid}", "POST /sessions/{sid}/keepalive"],
  access: "operate",
  effect: "reads",
  run: async (call, { session_id: sid, until_url: wanted, wait_s: wait }) => {
    const watched = call.hand_overs.of(sid);
    if (watched === null)
      throw new ToolRefusal(
        "this session was handed to nobody, or by another client: call session_hand_over first",
      );
    return waitFor(call, watched, wanted, wait * 1_000);
  },
});

export const HAND_OVER_TOOLS: readonly Tool[] = [handOver, waitForPerson];
