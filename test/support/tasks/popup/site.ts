import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  opened: boolean;
  accepted: string[] | null;
}

const NUMBER = "M-58207";

/** A course asks for consent in a window of its own, and goes on in the first one once that has closed itself. */
export const popup = task<State>({
  name: "popup",
  goal:
    "Join the course. Its terms open in a new window: there tick both the terms and the newsletter, and accept. The window " +
    "closes itself; return {member}: the member number that the first page shows then.",
  newState: () => ({ opened: false, accepted: null }),
  answer: async ({ state, method, path, request }) => {
    if (path === "terms") {
      state.opened = true;
      return Response.json({ terms: ["terms", "newsletter"] });
    }
    if (path === "accept" && method === "POST") {
      const { ticked } = (await request.json()) as { ticked: string[] };
      if (!ticked.includes("terms"))
        return Response.json({ error: "The terms must be accepted" }, { status: 422 });
      state.accepted = ticked.toSorted();
      return Response.json({ ok: true });
    }
    return Response.json({ member: state.accepted ? NUMBER : null });
  },
  verify: ({ result, server_state: { opened, accepted } }) =>
    firstOf(
      opened ? null : "the window was never opened",
      differs("what was accepted", accepted, ["newsletter", "terms"]),
      differs("the result", result, { member: NUMBER }),
    ),
});
