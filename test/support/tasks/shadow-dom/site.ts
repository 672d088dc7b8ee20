import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  preferences: Record<string, unknown>;
  saved: number;
}

const WANTED = { digest: true, alerts: false, language: "pt" };

/** Preferences made of custom elements within custom elements, each with an open shadow root. */
export const shadowDom = task<State>({
  name: "shadow-dom",
  goal:
    "In the preferences turn the weekly digest on and the storm alerts off, set the language to Português, and save. Return " +
    "{message}: the sentence that the page shows after saving.",
  newState: () => ({ preferences: { digest: false, alerts: true, language: "en" }, saved: 0 }),
  answer: async ({ state, method, request }) => {
    if (method !== "PUT") return Response.json(state.preferences);
    state.preferences = (await request.json()) as Record<string, unknown>;
    state.saved += 1;
    return Response.json({ message: "Guardado: as suas preferências" });
  },
  verify: ({ result, server_state: { preferences, saved } }) =>
    firstOf(
      saved > 0 ? null : "nothing was saved",
      differs("what was saved", preferences, WANTED),
      differs("the result", result, { message: "Guardado: as suas preferências" }),
    ),
});
